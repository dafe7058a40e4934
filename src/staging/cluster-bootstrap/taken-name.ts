import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { type NodeObject, nodeCondition } from "../apimachinery/api/node.js";
import { refusal } from "../client-go/rest/answers.js";
import type { KubeClient } from "../client-go/rest/client.js";
import { identityInWords } from "../client-go/rest/identity.js";
import { NODES, objectPath } from "../client-go/rest/paths.js";

/**
 * Checks that no kubelet already works under this name: a second one would get the same rights, and take over its pods and its status.
 *
 * Mirrors cmd/kubeadm/app/cmd/phases/join/kubelet.go (runKubeletStartJoinPhase): reads the Node with the bootstrap
 * token before the kubelet starts. A Node that is not Ready may be replaced.
 * Differs: kubeadm fails if it is not allowed to get Nodes; here the next of `clients` tries, and if all are refused,
 * the join continues, because a kubelet does not need that right to bootstrap.
 *
 * @param clients read the Node, in this order: the token's, then others if there are any
 * @throws LabError REFUSED when the Node exists and is Ready, UNAUTHORIZED
 */
export async function checkNameIsFree(
  trace: Trace,
  clients: readonly KubeClient[],
  nodeName: string,
  signal: AbortSignal,
): Promise<void> {
  const upstream = { file: "cmd/kubeadm/app/cmd/phases/join/kubelet.go", func: "runKubeletStartJoinPhase" };
  await trace.step("kubelet", `Check whether the name ${nodeName} is free`, { upstream }, async () => {
    const { what, why } = await lookFor(clients, nodeName, signal);
    trace.emit({ kind: "decision", what, why }, { actor: "kubelet" });
  });
}

async function lookFor(clients: readonly KubeClient[], nodeName: string, signal: AbortSignal) {
  const path = objectPath(NODES, nodeName);
  for (const client of clients) {
    const answer = await client.request<NodeObject>({ method: "GET", path, signal });
    if (answer.status === 403) continue;
    if (answer.status === 404) return { what: "yes: join", why: `there is no Node ${nodeName}` };
    if (answer.status !== 200) throw refusal(answer, `GET ${path}`, identityInWords(client.config));
    if (nodeCondition(answer.body, "Ready")?.status === "True") throw taken(nodeName);
    return { what: "yes: join in its place", why: `the Node ${nodeName} is not Ready` };
  }
  return { what: "unknown: join anyway", why: "a token needs no right to read Nodes, and this one has none" };
}

function taken(nodeName: string): LabError {
  return new LabError(
    "REFUSED",
    `the cluster already has a Ready Node ${nodeName}: a second kubelet would take over its pods`,
    `Give this node another name, or delete the existing one: kubectl delete node ${nodeName}`,
  );
}
