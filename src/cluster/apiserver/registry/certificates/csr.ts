import type { V1CertificateSigningRequest, V1CertificateSigningRequestCondition } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { isPathSegmentName } from "../../../../staging/apimachinery/api/names.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { humanDuration } from "../../../../staging/apimachinery/duration.js";
import { rfc3339 } from "../../../../staging/apimachinery/time.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { defined } from "../../../../util/defined.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN, NONE } from "../rest/cells.js";
import type { Strategy, StrategyContext } from "../rest/definition.js";
import { row, statusOf } from "../rest/rows.js";
import { validateCsr, validateCsrUpdate } from "./csr-validation.js";

type Csr = Wire<V1CertificateSigningRequest>;
type Condition = Wire<V1CertificateSigningRequestCondition>;

/** The requester is the authenticated user, whatever the body contains. Mirrors csrStrategy.PrepareForCreate. */
function prepareForCreate(csr: Csr, { user }: StrategyContext): KubeObject {
  const { username: _username, uid: _uid, groups: _groups, extra: _extra, ...spec } = csr.spec;
  return {
    ...csr,
    spec: defined({
      ...spec,
      username: user.username,
      uid: user.uid === "" ? undefined : user.uid,
      groups: user.groups.length === 0 ? undefined : user.groups,
      extra: user.extra,
    }),
    status: {},
  };
}

/**
 * Sets the missing times of conditions: now, or the time of the same old condition.
 * Mirrors populateConditionTimestamps in pkg/registry/certificates/certificates/strategy.go.
 */
function withConditionTimes({ status }: Csr, old: Csr, nowMs: number): readonly Condition[] {
  const now = rfc3339(nowMs);
  return (status?.conditions ?? []).map((condition) => {
    const { type, status } = condition;
    const before = old.status?.conditions?.find(
      (one) => one.type === type && one.status === status && one.lastTransitionTime,
    );
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? before?.lastTransitionTime ?? now,
    };
  });
}

function withConditions({ status = {} }: Csr, conditions: readonly Condition[]): NonNullable<Csr["status"]> {
  const { conditions: _dropped, ...rest } = status;
  return conditions.length === 0 ? rest : { ...rest, conditions };
}

/** Spec and status cannot be changed here: changes are ignored. Mirrors csrStrategy. */
const strategy: Strategy = {
  validateName: isPathSegmentName,
  allowUnconditionalUpdate: true,
  prepareForCreate,
  validate: (csr: Csr) => validateCsr(csr),
  prepareForUpdate: (csr, old) => ({ ...csr, spec: old.spec, status: old.status }),
  validateUpdate: (csr: Csr, old: Csr) => validateCsrUpdate(csr, old, {}),
};

/** Mirrors csrStatusStrategy: signers write the certificate and the Failed condition here. */
const statusStrategy: Strategy = {
  prepareForUpdate(csr: Csr, old: Csr, { nowMs }) {
    const conditions = withConditionTimes(csr, old, nowMs);
    return { ...csr, spec: old.spec, status: withConditions(csr, conditions) };
  },
  validateUpdate: (csr: Csr, old: Csr) => validateCsrUpdate(csr, old, { maySetCertificate: true }),
};

/** Keeps only the changes of metadata and conditions. Mirrors csrApprovalStrategy. */
const approvalStrategy: Strategy = {
  prepareForUpdate(csr: Csr, old: Csr, { nowMs }) {
    const conditions = withConditionTimes(csr, old, nowMs);
    return { ...csr, spec: old.spec, status: withConditions(old, conditions) };
  },
  validateUpdate: (csr: Csr, old: Csr) => validateCsrUpdate(csr, old, { mayApprove: true }),
};

/** `Pending`, `Approved,Issued`, `Denied`, `Approved,Failed`. Mirrors extractCSRStatus. */
function conditionCell({ status }: Csr): string {
  const types = (status?.conditions ?? []).map(({ type }) => type);
  const words = [types.includes("Denied") ? "Denied" : types.includes("Approved") ? "Approved" : "Pending"];
  if (types.includes("Failed")) words.push("Failed");
  if (status?.certificate) words.push("Issued");
  return words.join(",");
}

export const CERTIFICATE_SIGNING_REQUESTS = row(
  "certificates.k8s.io/v1",
  "CertificateSigningRequest",
  "certificatesigningrequests",
  strategy,
  {
    namespaced: false,
    shortNames: ["csr"],
    subresources: [{ ...statusOf(approvalStrategy), name: "approval" }, statusOf(statusStrategy)],
    selectableFields: ({ spec }: Partial<Csr>) => ({ "spec.signerName": spec?.signerName ?? "" }),
    table: {
      columns: [
        NAME_COLUMN,
        AGE_COLUMN,
        column("SignerName", "The requested signer, as domain/name."),
        column("Requestor", "The user who made the request."),
        column("RequestedDuration", "The requested validity of the certificate."),
        column("Condition", "Conditions applied to the request, such as approval or denial."),
      ],
      cells(csr: Csr, nowMs) {
        const { expirationSeconds: seconds, signerName, username = "" } = csr.spec;
        return [
          nameOf(csr),
          ageOf(csr, nowMs),
          signerName,
          username,
          seconds === undefined ? NONE : humanDuration(seconds * 1000),
          conditionCell(csr),
        ];
      },
    },
  },
);
