import { nameOf, withoutZeros } from "../../../staging/apimachinery/api/objects.js";
import { isPodAvailable, isPodReady } from "../../../staging/apimachinery/api/pod.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import { defined } from "../../../util/defined.js";
import { decide } from "../support/sync-loop.js";
import { nodeShouldRunDaemonPod } from "./node-should-run.js";
import type { DaemonPass, PodsByNode } from "./pass.js";
import { byCreationTimestampAndPhase, DAEMON_SETS, type DaemonSet, isPodUpdated } from "./util/daemonset-util.js";

const FILE = "pkg/controller/daemon/daemon_controller.go";

const COUNTS = [
  "desiredNumberScheduled",
  "currentNumberScheduled",
  "numberMisscheduled",
  "numberReady",
  "updatedNumberScheduled",
  "numberAvailable",
  "numberUnavailable",
] as const;

type Counts = Record<(typeof COUNTS)[number], number>;

/** Counts nodes; of several pods on a node the oldest counts. */
function countNodes({ set, nodes, hash, nowMs }: DaemonPass, byNode: PodsByNode): Counts {
  const counts = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Counts;
  for (const node of nodes) {
    const pods = byNode.get(nameOf(node)) ?? [];
    const [pod] = [...pods].sort(byCreationTimestampAndPhase);
    const { shouldRun } = nodeShouldRunDaemonPod(set, node);
    if (shouldRun) counts.desiredNumberScheduled++;
    else if (pod !== undefined) counts.numberMisscheduled++;
    if (!shouldRun || pod === undefined) continue;
    counts.currentNumberScheduled++;
    if (isPodReady(pod)) counts.numberReady++;
    if (isPodReady(pod) && isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs)) counts.numberAvailable++;
    if (isPodUpdated(pod, hash)) counts.updatedNumberScheduled++;
  }
  counts.numberUnavailable = counts.desiredNumberScheduled - counts.numberAvailable;
  return counts;
}

/**
 * Writes a status that changed. Mirrors updateDaemonSetStatus.
 * @param isObserved whether this pass acted on the set's current generation
 */
export async function updateDaemonSetStatus(pass: DaemonPass, isObserved: boolean): Promise<void> {
  const counts = countNodes(pass, await pass.podsByNode());
  await storeDaemonSetStatus(pass, counts, isObserved);
  const { minReadySeconds = 0 } = pass.set.spec ?? {};
  if (minReadySeconds > 0 && counts.numberReady !== counts.numberAvailable) {
    pass.deps.syncAfter(pass.set, minReadySeconds * 1000);
  }
}

/** Tries once more after a refusal. Mirrors storeDaemonSetStatus. */
async function storeDaemonSetStatus(pass: DaemonPass, counts: Counts, isObserved: boolean): Promise<void> {
  const { set, key } = pass;
  const { client, trace, written } = pass.deps;
  const { generation = 0, namespace } = set.metadata;
  const before = set.status;
  const changed = COUNTS.filter((name) => (before?.[name] ?? 0) !== counts[name]);
  const isNew = (before?.observedGeneration ?? 0) < generation;
  if (changed.length === 0 && !isNew) return;
  const write = async (current: DaemonSet) => {
    const status = statusOf(current, counts, isObserved ? generation : current.status?.observedGeneration);
    written.remember(await client.update<DaemonSet>(DAEMON_SETS, { ...current, status }, "status"));
  };
  const numbers = changed.map((name) => `${name} ${before?.[name] ?? 0} -> ${counts[name]}`);
  const decision = {
    what: `write the status of DaemonSet ${key}`,
    why: [...numbers, ...(isNew && isObserved ? [`generation ${generation}`] : [])].join(", "),
    upstream: { file: FILE, func: "storeDaemonSetStatus" },
  };
  const tryTwice = async () => {
    try {
      await write(set);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      const latest = await client.get<DaemonSet>(DAEMON_SETS, namespace, nameOf(set));
      if (latest === undefined) throw error;
      await write(latest);
    }
  };
  await decide(trace, decision, tryTwice, 2);
}

function statusOf({ status }: DaemonSet, counts: Counts, observedGeneration = 0): NonNullable<DaemonSet["status"]> {
  const { updatedNumberScheduled, numberAvailable, numberUnavailable, ...others } = counts;
  return {
    ...defined({ conditions: status?.conditions, collisionCount: status?.collisionCount }),
    ...others,
    ...withoutZeros({ observedGeneration, updatedNumberScheduled, numberAvailable, numberUnavailable }),
  };
}
