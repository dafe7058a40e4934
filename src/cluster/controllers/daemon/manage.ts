import type { NodeObject } from "../../../staging/apimachinery/api/node.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { isPodAvailable, isPodReady } from "../../../staging/apimachinery/api/pod.js";
import type { PodToDelete } from "../support/active-pods.js";
import { decide } from "../support/sync-loop.js";
import { nodeShouldRunDaemonPod } from "./node-should-run.js";
import type { DaemonPass, NodeToFill, PodsByNode } from "./pass.js";
import { allowsSurge, byCreationTimestampAndPhase, type DaemonSet, isPodUpdated } from "./util/daemonset-util.js";

const FILE = "pkg/controller/daemon/daemon_controller.go";

interface Changes {
  readonly nodesToFill: NodeToFill[];
  readonly podsToDelete: PodToDelete[];
}

/** Gives each node that should have a pod one, and takes the others away. Mirrors manage. */
export async function manage(pass: DaemonPass): Promise<void> {
  const byNode = await pass.podsByNode();
  const changes: Changes = { nodesToFill: [], podsToDelete: [] };
  for (const node of pass.nodes) podsShouldBeOnNode(pass, node, byNode.get(nameOf(node)), changes);
  changes.podsToDelete.push(...unscheduledPodsWithoutNode(pass.nodes, byNode));
  await pass.syncNodes(changes.nodesToFill, changes.podsToDelete);
}

/** Mirrors podsShouldBeOnNode. @param pods undefined if the node has none, terminating ones included */
function podsShouldBeOnNode(
  pass: DaemonPass,
  node: NodeObject,
  pods: readonly PodObject[] | undefined,
  changes: Changes,
): void {
  const { shouldRun, shouldContinueRunning, why } = nodeShouldRunDaemonPod(pass.set, node);
  const nodeName = nameOf(node);
  if (shouldRun && pods === undefined) {
    changes.nodesToFill.push({ nodeName, why: `${why}, and has no pod` });
  } else if (shouldContinueRunning) {
    const alive = (pods ?? []).filter((pod) => !isTerminating(pod));
    const running = alive.filter((pod) => !hasEnded(pass, pod, nodeName, changes));
    running.sort(byCreationTimestampAndPhase);
    if (!allowsSurge(pass.set)) {
      const surplus = running.slice(1).map((pod) => ({ pod, why: `node ${nodeName} has an older pod` }));
      changes.podsToDelete.push(...surplus);
    } else if (running.length > 1) {
      changes.podsToDelete.push(...surplusOfSurge(pass, running));
    } else if (running.length === 0 && shouldRun) {
      changes.nodesToFill.push({ nodeName, why: `${why}, and its pods end: the set may surge` });
    }
  } else {
    const alive = (pods ?? []).filter((pod) => !isTerminating(pod));
    changes.podsToDelete.push(...alive.map((pod) => ({ pod, why: `it must not run on node ${nodeName}: ${why}` })));
  }
}

/** A failed pod is deleted, at growing intervals per node: the kubelet may refuse its successor as well. */
function hasEnded(pass: DaemonPass, pod: PodObject, nodeName: string, { podsToDelete }: Changes): boolean {
  const { phase } = pod.status ?? {};
  if (phase !== "Failed" && phase !== "Succeeded") return false;
  const found = `Found ${phase.toLowerCase()} daemon pod ${keyOf(pod)} on node ${nodeName}`;
  if (phase === "Succeeded") {
    pass.event("Normal", "SucceededDaemonPod", `${found}, will try to delete it`);
    podsToDelete.push({ pod, why: "it succeeded, and a daemon pod runs for ever" });
    return true;
  }
  const { failedPodsBackoff: backoff, trace } = pass.deps;
  const id = failedPodsBackoffKey(pass.set, nodeName);
  if (backoff.isInBackOffSinceUpdate(id, pass.nowMs)) {
    const delayMs = backoff.get(id);
    const decision = {
      what: `leave the failed pod ${keyOf(pod)} for ${delayMs / 1000}s`,
      why: `pods of DaemonSet ${pass.key} fail on node ${nodeName}, and each is left twice as long`,
      upstream: { file: FILE, func: "podsShouldBeOnNode" },
    };
    decide(trace, decision, () => pass.deps.syncAfter(pass.set, delayMs));
    return true;
  }
  backoff.next(id, pass.nowMs);
  pass.event("Warning", "FailedDaemonPod", `${found}, will try to kill it`);
  podsToDelete.push({ pod, why: "it failed" });
  return true;
}

function failedPodsBackoffKey({ metadata, status }: DaemonSet, nodeName: string): string {
  return `${metadata.uid}/${status?.observedGeneration ?? 0}/${nodeName}`;
}

/**
 * During a surge an old pod and a new one may share a node: as long as the old one is ready, and the new one is not yet available.
 * @param running the oldest first
 */
function surplusOfSurge({ set, hash, nowMs }: DaemonPass, running: readonly PodObject[]): PodToDelete[] {
  const [newPod, ...newer] = running.filter((pod) => isPodUpdated(pod, hash));
  const [oldPod, ...older] = running.filter((pod) => !isPodUpdated(pod, hash));
  const surplus = [...newer, ...older].map((pod) => ({ pod, why: "its node has an older pod of the same kind" }));
  if (newPod === undefined || oldPod === undefined) return surplus;
  const name = nameOf(newPod);
  if (!isPodReady(oldPod)) {
    surplus.push({ pod: oldPod, why: `it has an old template and is not ready; pod ${name} replaces it` });
  } else if (isPodAvailable(newPod, set.spec?.minReadySeconds ?? 0, nowMs)) {
    surplus.push({ pod: oldPod, why: `it has an old template, and pod ${name} is available` });
  }
  return surplus;
}

/** The scheduler never binds them, and the pod garbage collector leaves pods without a node. Mirrors getUnscheduledPodsWithoutNode. */
function unscheduledPodsWithoutNode(nodes: readonly NodeObject[], byNode: PodsByNode): PodToDelete[] {
  const existing = new Set(nodes.map(nameOf));
  return [...byNode].flatMap(([nodeName, pods]) => {
    if (existing.has(nodeName)) return [];
    const waiting = pods.filter(({ spec }) => (spec?.nodeName ?? "") === "");
    return waiting.map((pod) => ({ pod, why: `it waits for node ${nodeName}, which does not exist` }));
  });
}
