import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { isPathSegmentName } from "../../../apimachinery/api/names.js";
import { rfc3339 } from "../../../apimachinery/time.js";
import { defined } from "../../../util/defined.js";
import type { Strategy, StrategyContext } from "../definition.js";
import { type Fields, fields, items, number, text } from "./access.js";
import { AGE_COLUMN, ageOf, column, humanDuration, NAME_COLUMN, NONE, nameOf } from "./cells.js";
import { validateCsr, validateCsrUpdate } from "./csr-validation.js";
import { row, statusOf } from "./rows.js";

/** The requester is the authenticated user, whatever the body contains. Mirrors csrStrategy.PrepareForCreate. */
function prepareForCreate(csr: KubeObject, { user }: StrategyContext): KubeObject {
  const { username: _username, uid: _uid, groups: _groups, extra: _extra, ...spec } = fields(csr.spec);
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
function withConditionTimes(conditions: unknown, oldConditions: unknown, nowMs: number): Fields[] {
  const now = rfc3339(nowMs);
  return items(conditions).map((one) => {
    const condition = fields(one);
    const before = items(oldConditions)
      .map(fields)
      .find((old) => old.type === condition.type && old.status === condition.status && old.lastTransitionTime);
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? before?.lastTransitionTime ?? now,
    };
  });
}

function conditionsOf(csr: KubeObject): unknown {
  return fields(csr.status).conditions;
}

function withConditions(status: unknown, conditions: readonly Fields[]): Fields {
  const { conditions: _dropped, ...rest } = fields(status);
  return conditions.length === 0 ? rest : { ...rest, conditions };
}

/** Spec and status cannot be changed here: changes are ignored. Mirrors csrStrategy. */
const strategy: Strategy = {
  validateName: isPathSegmentName,
  allowUnconditionalUpdate: true,
  prepareForCreate,
  validate: (csr) => validateCsr(csr),
  prepareForUpdate: (csr, old) => ({ ...csr, spec: old.spec, status: old.status }),
  validateUpdate: (csr, old) => validateCsrUpdate(csr, old, {}),
};

/** Mirrors csrStatusStrategy: signers write the certificate and the Failed condition here. */
const statusStrategy: Strategy = {
  prepareForUpdate(csr, old, { nowMs }) {
    const conditions = withConditionTimes(conditionsOf(csr), conditionsOf(old), nowMs);
    return { ...csr, spec: old.spec, status: withConditions(csr.status, conditions) };
  },
  validateUpdate: (csr, old) => validateCsrUpdate(csr, old, { maySetCertificate: true }),
};

/** Keeps only the changes of metadata and conditions. Mirrors csrApprovalStrategy. */
const approvalStrategy: Strategy = {
  prepareForUpdate(csr, old, { nowMs }) {
    const conditions = withConditionTimes(conditionsOf(csr), conditionsOf(old), nowMs);
    return { ...csr, spec: old.spec, status: withConditions(old.status, conditions) };
  },
  validateUpdate: (csr, old) => validateCsrUpdate(csr, old, { mayApprove: true }),
};

/** `Pending`, `Approved,Issued`, `Denied`, `Approved,Failed`. Mirrors extractCSRStatus. */
function conditionCell(csr: KubeObject): string {
  const types = items(conditionsOf(csr)).map((one) => text(fields(one).type));
  const words = [types.includes("Denied") ? "Denied" : types.includes("Approved") ? "Approved" : "Pending"];
  if (types.includes("Failed")) words.push("Failed");
  if (text(fields(csr.status).certificate) !== "") words.push("Issued");
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
    selectableFields: (csr) => ({ "spec.signerName": text(fields(csr.spec).signerName) }),
    table: {
      columns: [
        NAME_COLUMN,
        AGE_COLUMN,
        column("SignerName", "The requested signer, as domain/name."),
        column("Requestor", "The user who made the request."),
        column("RequestedDuration", "The requested validity of the certificate."),
        column("Condition", "Conditions applied to the request, such as approval or denial."),
      ],
      cells(csr, nowMs) {
        const spec = fields(csr.spec);
        const seconds = number(spec.expirationSeconds);
        return [
          nameOf(csr),
          ageOf(csr, nowMs),
          text(spec.signerName),
          text(spec.username),
          seconds === undefined ? NONE : humanDuration(seconds * 1000),
          conditionCell(csr),
        ];
      },
    },
  },
);
