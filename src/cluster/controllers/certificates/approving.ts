import {
  base64Text,
  type CertificateSigningRequest,
  csrCondition,
  isIssued,
} from "../../../staging/apimachinery/api/certificates.js";
import { type CertificateRequest, parseCertificateRequestPem } from "../../../staging/pki/csr.js";
import {
  evaluateSigner,
  findSigner,
  KUBE_APISERVER_CLIENT_KUBELET,
  outcomesText,
} from "../../../staging/pki/signers.js";
import type { Cause } from "../../../trace/trace.js";
import type { Controller, ControllerDeps } from "../controller.js";
import { asController } from "../support/shared-deps.js";
import { CSR_RESOURCE, IgnorableError, runCertificateController } from "./certificate-controller.js";
import { withCondition } from "./conditions.js";

const UPSTREAM = { file: "pkg/controller/certificates/approver/sarapprove.go", func: "handle" };

/** A kind of request that is approved automatically if its requester has a certain right. */
interface Recognizer {
  /** the subresource on which the requester must have the verb `create` */
  readonly subresource: "selfnodeclient" | "nodeclient";
  recognizes(csr: CertificateSigningRequest, request: CertificateRequest): boolean;
  readonly successMessage: string;
}

/** In upstream's order: a renewal also matches the second recognizer. */
const RECOGNIZERS: readonly Recognizer[] = [
  {
    subresource: "selfnodeclient",
    recognizes: (csr, request) => csr.spec.username === request.subject.commonName,
    successMessage: "Auto approving self kubelet client certificate after SubjectAccessReview.",
  },
  {
    subresource: "nodeclient",
    recognizes: () => true,
    successMessage: "Auto approving kubelet client certificate after SubjectAccessReview.",
  },
];

/**
 * Approves the client certificates of kubelets whose requester has the right to them.
 *
 * Mirrors pkg/controller/certificates/approver/sarapprove.go.
 * Differs: calls the authorizer directly instead of sending a SubjectAccessReview through the API server.
 */
export function createCsrApprovingController(deps: ControllerDeps): Controller {
  return {
    name: "csrapproving",
    run: (signal) =>
      runCertificateController(deps, "csrapproving", (csr, attempt) => approve(deps, csr, attempt), signal),
  };
}

async function approve(deps: ControllerDeps, csr: CertificateSigningRequest, attempt: number): Promise<void> {
  if (isIssued(csr) || csrCondition(csr, "Approved") !== undefined || csrCondition(csr, "Denied") !== undefined) return;
  const name = csr.metadata.name ?? "";
  const request = parseCertificateRequestPem(base64Text(csr.spec.request));
  const refusal = notAKubeletClient(csr, request);
  if (refusal !== undefined) {
    report(deps, csr, "leave it to a person", refusal);
    return;
  }

  const tried: string[] = [];
  for (const recognizer of RECOGNIZERS) {
    if (!recognizer.recognizes(csr, request)) continue;
    const { allowed, cause } = await mayCreate(deps, csr, recognizer.subresource);
    if (!allowed) {
      tried.push(recognizer.subresource);
      continue;
    }
    const decision = report(
      deps,
      csr,
      "approve",
      `all rules of the signer hold, and ${csr.spec.username} may create ${CSR_RESOURCE}/${recognizer.subresource} (${cause})`,
    );
    const approved = { type: "Approved", reason: "AutoApproved", message: recognizer.successMessage };
    const change = (current: CertificateSigningRequest) => withCondition(current, approved);
    await deps.trace.because(decision, () =>
      deps.client.modify<CertificateSigningRequest>(CSR_RESOURCE, undefined, name, change, "approval"),
    );
    return;
  }
  const rights = tried.map((subresource) => `${CSR_RESOURCE}/${subresource}`).join(" nor ");
  if (attempt === 1) {
    report(deps, csr, "leave it to a person", `${csr.spec.username} may not create ${rights}; checked again later`);
  }
  throw new IgnorableError(
    `recognized csr ${JSON.stringify(name)} as [${tried.join(" ")}] but subject access review was not approved`,
  );
}

/** Why only a person can approve it; undefined for a valid kubelet client request. */
function notAKubeletClient(csr: CertificateSigningRequest, request: CertificateRequest): string | undefined {
  if (csr.spec.signerName !== KUBE_APISERVER_CLIENT_KUBELET) {
    return `only ${KUBE_APISERVER_CLIENT_KUBELET} is approved automatically; this request is for ${csr.spec.signerName}`;
  }
  const signer = findSigner(csr.spec.signerName);
  if (signer === undefined) return `no rules are known for ${csr.spec.signerName}`;
  const outcomes = evaluateSigner(signer, { request, usages: csr.spec.usages ?? [] });
  return outcomes.every((one) => one.ok) ? undefined : outcomesText(outcomes);
}

function mayCreate(deps: ControllerDeps, csr: CertificateSigningRequest, subresource: string) {
  const { username = "", uid, groups = [], extra } = csr.spec;
  return deps.authorizer.authorize({
    user: { username, groups, ...(uid === undefined ? {} : { uid }), ...(extra === undefined ? {} : { extra }) },
    verb: "create",
    isResourceRequest: true,
    apiGroup: "certificates.k8s.io",
    apiVersion: "*",
    resource: "certificatesigningrequests",
    subresource,
    namespace: "",
    name: "",
    path: "",
  });
}

function report(deps: ControllerDeps, csr: CertificateSigningRequest, choice: string, why: string): Cause {
  return asController(deps.trace, {
    kind: "decision",
    what: `CSR ${csr.metadata.name}: ${choice}`,
    why,
    upstream: UPSTREAM,
  });
}
