import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { type CertificateSigningRequest, csrCondition } from "../apimachinery/api/certificates.js";
import { isSuccess, refusal } from "../client-go/rest/answers.js";
import type { KubeClient } from "../client-go/rest/client.js";
import { identityInWords } from "../client-go/rest/identity.js";
import { CSRS, objectPath } from "../client-go/rest/paths.js";
import { explainSigner, showEquivalentCommand } from "./create.js";

export interface Decision {
  readonly type: "Approved" | "Denied";
  readonly reason: string;
  readonly message: string;
}

/** The default reasons and messages. */
export const DECISIONS = {
  Approved: {
    type: "Approved",
    reason: "KubelabApprove",
    message: "This CSR was approved by kubelab csr approve.",
  },
  Denied: { type: "Denied", reason: "KubelabDeny", message: "This CSR was denied by kubelab csr deny." },
} as const satisfies Record<Decision["type"], Decision>;

export interface DecisionResult {
  readonly csr: CertificateSigningRequest;
  /** false: the same decision existed before */
  readonly isNew: boolean;
}

/** Attempts while others write at the same time; kubectl gives up after ten. */
const MAX_ATTEMPTS = 10;

/**
 * Approves or denies a request through its `approval` subresource.
 *
 * Mirrors k8s.io/kubectl/pkg/cmd/certificates/certificates.go (modifyCertificateCondition).
 * @throws LabError REFUSED when the opposite was decided before, which is final, or when the object does not exist
 */
export async function decide(
  deps: { readonly client: KubeClient; readonly trace: Trace },
  name: string,
  decision: Decision,
  signal: AbortSignal,
): Promise<DecisionResult> {
  const { client, trace } = deps;
  const upstream = {
    file: "staging/src/k8s.io/kubectl/pkg/cmd/certificates/certificates.go",
    func: "modifyCertificateCondition",
  };
  const verb = decision.type === "Approved" ? "Approve" : "Deny";
  return trace.step("user", `${verb} CSR ${name}`, { upstream }, async () => {
    for (let attempt = 1; ; attempt++) {
      const csr = await getCsr(client, name, signal);
      if (csrCondition(csr, decision.type) !== undefined) {
        trace.emit({ kind: "note", text: `It was ${decision.type.toLowerCase()} before.` }, { actor: "user" });
        return { csr, isNew: false };
      }
      refuseOpposite(csr, decision);
      if (attempt === 1 && decision.type === "Approved") explainSigner(trace, csr);
      if (attempt === 1) showEquivalentCommand(trace, `kubectl certificate ${verb.toLowerCase()} ${name}`);
      const path = objectPath(CSRS, name, "approval");
      const body = withDecision(csr, decision);
      const answer = await client.request<CertificateSigningRequest>({ method: "PUT", path, body, signal });
      if (isSuccess(answer)) {
        const to = `${decision.type}: ${decision.reason}: ${decision.message}`;
        trace.emit({ kind: "state", subject: `CSR ${name}`, what: "condition", to }, { actor: "apiserver" });
        return { csr: answer.body, isNew: true };
      }
      // Another client wrote in between: decide about the new version.
      if (answer.status === 409 && attempt < MAX_ATTEMPTS) continue;
      throw refusal(answer, `PUT ${path}`, identityInWords(client.config));
    }
  });
}

/** @throws LabError REFUSED when it does not exist */
export async function getCsr(
  client: KubeClient,
  name: string,
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  const path = objectPath(CSRS, name);
  const answer = await client.request<CertificateSigningRequest>({ method: "GET", path, signal });
  if (isSuccess(answer)) return answer.body;
  if (answer.status === 404) {
    throw new LabError(
      "REFUSED",
      `there is no CSR ${name}`,
      "List the CSRs of a cluster: kubectl get csr. Without a target flag, this uses the cluster of `kubelab cluster up`.",
    );
  }
  throw refusal(answer, `GET ${path}`, identityInWords(client.config));
}

function withDecision(csr: CertificateSigningRequest, { type, reason, message }: Decision): CertificateSigningRequest {
  const conditions = csr.status?.conditions ?? [];
  return {
    ...csr,
    status: { ...csr.status, conditions: [...conditions, { type, status: "True", reason, message }] },
  };
}

function refuseOpposite(csr: CertificateSigningRequest, { type }: Decision): void {
  const opposite = csrCondition(csr, type === "Approved" ? "Denied" : "Approved");
  if (opposite === undefined) return;
  const words = [opposite.reason, opposite.message].filter(Boolean).join(": ");
  throw new LabError(
    "REFUSED",
    `CSR ${csr.metadata.name} was ${opposite.type.toLowerCase()} already${words === "" ? "" : ` (${words})`}`,
    "A decision is final: create a new request with kubelab csr create.",
  );
}
