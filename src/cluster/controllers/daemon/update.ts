import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { isPodAvailable } from "../../../staging/apimachinery/api/pod.js";
import type { PodToDelete } from "../support/active-pods.js";
import { nodeShouldRunDaemonPod } from "./node-should-run.js";
import type { DaemonPass, NodeToFill, PodsByNode } from "./pass.js";
import { isPodUpdated, surgeCount, unavailableCount } from "./util/daemonset-util.js";

/**
 * One step of a rolling update: replaces as many old pods as the strategy allows. `manage` creates the pods of nodes that lost theirs.
 * Mirrors pkg/controller/daemon/update.go (rollingUpdate).
 */
export async function rollingUpdate(pass: DaemonPass): Promise<void> {
  const byNode = await pass.podsByNode();
  const { maxSurge, maxUnavailable } = updatedDesiredNodeCounts(pass, byNode);
  const changes = maxSurge === 0 ? replace(pass, byNode, maxUnavailable) : surge(pass, byNode, maxSurge);
  await pass.syncNodes(changes.nodesToFill, changes.podsToDelete);
}

interface Changes {
  readonly nodesToFill: readonly NodeToFill[];
  readonly podsToDelete: readonly PodToDelete[];
}

/** Adds each node without a pod to the map. @returns the strategy's limits as numbers of pods */
function updatedDesiredNodeCounts({ set, nodes }: DaemonPass, byNode: Map<string, PodObject[]>) {
  const wanting = nodes.filter((node) => nodeShouldRunDaemonPod(set, node).shouldRun).map(nameOf);
  for (const name of wanting) if (!byNode.has(name)) byNode.set(name, []);
  const maxSurge = surgeCount(set, wanting.length);
  const maxUnavailable = unavailableCount(set, wanting.length);
  // Both 0 would stop every update.
  const isStuck = wanting.length > 0 && maxSurge === 0 && maxUnavailable === 0;
  return { maxSurge, maxUnavailable: isStuck ? 1 : maxUnavailable };
}

interface Updated {
  readonly newPod: PodObject | undefined;
  readonly oldPod: PodObject | undefined;
}

/** The nodes in the order of their names, so that every run is the same. @returns undefined for a node with surplus pods */
function* updatedPods({ hash }: DaemonPass, byNode: PodsByNode): Generator<readonly [string, Updated | undefined]> {
  for (const [nodeName, pods] of [...byNode].sort(([a], [b]) => (a < b ? -1 : 1))) {
    yield [nodeName, findUpdatedPodsOnNode(pods, hash)];
  }
}

/** Mirrors findUpdatedPodsOnNode. @returns undefined if there is more than one pod of a kind, which `manage` will change */
function findUpdatedPodsOnNode(pods: readonly PodObject[], hash: string): Updated | undefined {
  const alive = pods.filter((pod) => !isTerminating(pod));
  const [newPod, ...newer] = alive.filter((pod) => isPodUpdated(pod, hash));
  const [oldPod, ...older] = alive.filter((pod) => !isPodUpdated(pod, hash));
  return newer.length + older.length > 0 ? undefined : { newPod, oldPod };
}

/** Deletes old pods that are not available, and others as long as no more than `maxUnavailable` nodes lack an available pod. */
function replace(pass: DaemonPass, byNode: PodsByNode, maxUnavailable: number): Changes {
  const replacements: PodToDelete[] = [];
  const candidates: PodObject[] = [];
  let unavailable = 0;
  for (const [, updated] of updatedPods(pass, byNode)) {
    const { newPod, oldPod } = updated ?? {};
    if ((newPod === undefined) === (oldPod === undefined)) unavailable++;
    else if (newPod !== undefined) unavailable += isAvailable(pass, newPod) ? 0 : 1;
    else if (oldPod !== undefined && !isAvailable(pass, oldPod)) {
      replacements.push({ pod: oldPod, why: "it has an old template and is not available" });
    } else if (oldPod !== undefined && unavailable < maxUnavailable) candidates.push(oldPod);
  }
  const chosen = candidates.slice(0, Math.max(0, maxUnavailable - unavailable));
  const why = `it has an old template; ${unavailable} nodes are without an available pod, and maxUnavailable is ${maxUnavailable}`;
  return { nodesToFill: [], podsToDelete: [...replacements, ...chosen.map((pod) => ({ pod, why }))] };
}

/** Creates up to `maxSurge` new pods on nodes whose old pod is available, and deletes an old pod once its new one is available. */
function surge(pass: DaemonPass, byNode: PodsByNode, maxSurge: number): Changes {
  const podsToDelete: PodToDelete[] = [];
  const allowed: NodeToFill[] = [];
  const candidates: string[] = [];
  let surging = 0;
  for (const [nodeName, updated] of updatedPods(pass, byNode)) {
    const { newPod, oldPod } = updated ?? {};
    if (updated === undefined) surging++;
    else if (oldPod === undefined) continue;
    else if (newPod !== undefined) {
      if (!isAvailable(pass, newPod)) surging++;
      else podsToDelete.push({ pod: oldPod, why: `it has an old template, and pod ${nameOf(newPod)} is available` });
    } else if (!isAvailable(pass, oldPod)) {
      allowed.push({ nodeName, why: `its pod ${nameOf(oldPod)} has an old template and is not available` });
    } else if (surging < maxSurge) candidates.push(nodeName);
  }
  const chosen = candidates.slice(0, Math.max(0, maxSurge - surging));
  const why = `its pod has an old template; ${surging} nodes have two pods, and maxSurge is ${maxSurge}`;
  return { nodesToFill: [...allowed, ...chosen.map((nodeName) => ({ nodeName, why }))], podsToDelete };
}

function isAvailable({ set, nowMs }: DaemonPass, pod: PodObject): boolean {
  return isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs);
}
