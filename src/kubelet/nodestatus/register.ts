import type { NodeObject } from "../../staging/apimachinery/api/node.js";
import { KUBELET_LABELS } from "../../staging/apimachinery/corev1/kubelet-labels.js";
import { isSuccess, refusal, statusMessage } from "../../staging/client-go/rest/answers.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, NODES, objectPath } from "../../staging/client-go/rest/paths.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { factFor } from "../../util/release/facts.js";
import { NodeStatusObserver } from "./node-status-observer.js";

export interface RegisterDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly trace: Trace;
}

/**
 * Registers the node: POST, or, if a node of this name exists, an update of its well-known labels: it keeps its others. Retries with
 * backoff after any error, as upstream: a certificate or a right that is wrong now can be mended.
 *
 * Mirrors pkg/kubelet/kubelet_node_status.go (registerWithAPIServer, tryRegisterWithAPIServer, updateDefaultLabels).
 * Differs: no sleep before the first attempt (upstream: 100 ms).
 *
 * @param options.maxAttempts default: no limit, as upstream; fewer for an interactive command, for which a refusal (401, 403, 422) and a
 * server that is not trusted are final
 * @returns the node as the API server has it, and whether this call created it
 * @throws LabError UNAUTHORIZED, FORBIDDEN, REFUSED, CLUSTER_*
 */
export async function registerWithApiServer(
  deps: RegisterDeps,
  node: NodeObject,
  options: { readonly kubeVersion: string; readonly maxAttempts?: number | undefined },
  signal: AbortSignal,
): Promise<{ readonly node: NodeObject; readonly isNew: boolean }> {
  const { trace, clock } = deps;
  const observer = new NodeStatusObserver(trace);
  const { kubeVersion, maxAttempts = Number.POSITIVE_INFINITY } = options;
  const name = node.metadata.name ?? "";
  const maxMs = factFor("registerBackoffMax", kubeVersion);
  let stepMs = factFor("registerBackoffInitial", kubeVersion);
  return observer.registering(name, async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await tryRegister(deps, observer, node, signal);
      } catch (error) {
        const isFinal = !(error instanceof LabError) || (options.maxAttempts !== undefined && !isTransient(error));
        if (signal.aborted || isFinal || attempt === maxAttempts) throw error;
        observer.registerFailed(error, stepMs);
        await clock.sleep(stepMs, signal);
        stepMs = Math.min(stepMs * 2, maxMs);
      }
    }
  });
}

/** The next answer may be another one, though nobody mends anything. */
function isTransient({ code, cause }: LabError): boolean {
  return code === "CLUSTER_UNREACHABLE" || cause instanceof ServerTrouble;
}

/** The API server answered that it cannot process the request now. */
class ServerTrouble extends Error {
  override readonly name = "ServerTrouble";
}

async function tryRegister(
  { client }: RegisterDeps,
  observer: NodeStatusObserver,
  node: NodeObject,
  signal: AbortSignal,
) {
  const name = node.metadata.name ?? "";
  const answer = await client.request<NodeObject>({ method: "POST", path: collectionPath(NODES), body: node, signal });
  if (isSuccess(answer)) {
    observer.registered(node, answer.body);
    return { node: answer.body, isNew: true };
  }
  if (answer.status === 403) throw forbidden(name, statusMessage(answer));
  if (answer.status !== 409) {
    const { code, message, hint } = refusal(answer, `POST ${collectionPath(NODES)}`, `node ${name}`);
    const isTrouble = answer.status === 429 || answer.status >= 500;
    throw new LabError(code, message, hint, isTrouble ? { cause: new ServerTrouble(message) } : {});
  }
  const path = objectPath(NODES, name);
  const existing = await client.expect<NodeObject>({ method: "GET", path, signal });
  observer.existsAlready(name);
  const labels = missingLabels(node, existing);
  if (Object.keys(labels).length === 0) return { node: existing, isNew: false };
  const patched = await client.expect<NodeObject>({
    method: "PATCH",
    path,
    contentType: "application/strategic-merge-patch+json",
    body: { metadata: { labels } },
    signal,
  });
  return { node: patched, isNew: false };
}

function missingLabels(wanted: NodeObject, existing: NodeObject): Record<string, string> {
  const out: Record<string, string> = {};
  for (const label of KUBELET_LABELS) {
    const value = wanted.metadata.labels?.[label];
    if (value !== undefined && existing.metadata.labels?.[label] !== value) out[label] = value;
  }
  return out;
}

function forbidden(nodeName: string, message: string): LabError {
  return new LabError(
    "FORBIDDEN",
    `the API server does not let the node register: ${message}`,
    `A node may only write the Node of its own name: is the certificate for system:node:${nodeName}?`,
  );
}
