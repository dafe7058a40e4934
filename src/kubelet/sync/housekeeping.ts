import type { V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import type { Backoff } from "../../staging/client-go/backoff.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { Pod } from "../container/runtime.js";
import type { MirrorClient } from "../pod/mirror-client.js";
import type { PodManager } from "../pod/pod-manager.js";
import type { PodWorkers } from "../podworkers/pod-workers.js";
import type { PodWorkerState } from "../podworkers/sync-status.js";
import type { ProbeManager } from "../prober/manager.js";
import type { VolumeManager } from "../volumes/volume-manager.js";
import { isAdmittedPodTerminal } from "./active-pods.js";
import type { PodDirs } from "./pod-dirs.js";
import type { PodHandlers } from "./pod-handlers.js";
import { PodsObserver } from "./pods-observer.js";

/** The grace period of orphans: they are ended at once, because nothing waits for them. */
const ORPHAN_GRACE_SECONDS = 1;

export interface HousekeepingDeps {
  readonly podManager: PodManager;
  readonly podWorkers: Pick<PodWorkers, "syncKnownPods" | "updatePod" | "isPodForMirrorPodTerminatingByFullName">;
  readonly statusManager: {
    getPodStatus(podUid: string): V1PodStatus | undefined;
    removeOrphanedStatuses(podUids: ReadonlySet<string>): void;
  };
  readonly runtime: { getPods(all: boolean, signal: AbortSignal): Promise<readonly Pod[]> };
  readonly prober: Pick<ProbeManager, "cleanupPods">;
  readonly volumes: Pick<VolumeManager, "podVolumesExist">;
  readonly mirrorClient: Pick<MirrorClient, "deleteMirrorPod">;
  readonly podDirs: Pick<PodDirs, "listPods" | "removePodDir">;
  readonly handlers: Pick<PodHandlers, "dispatchWork">;
  readonly backOff: Pick<Backoff, "gc">;
  readonly clock: Clock;
  readonly trace: Trace;
}

/**
 * Cleans up what does not belong to a desired pod: workers, probes, statuses, files, mirror pods, and running pods that
 * no source has.
 *
 * Mirrors HandlePodCleanups in pkg/kubelet/kubelet_pods.go.
 * @throws the runtime's error; the signal's reason
 */
export async function handlePodCleanups(deps: HousekeepingDeps, signal: AbortSignal): Promise<void> {
  const { podManager, podWorkers, statusManager, prober, backOff, runtime } = deps;
  const { pods: allPods, mirrorPods } = podManager.getPodsAndMirrorPods();
  const workingPods = podWorkers.syncKnownPods(allPods);
  prober.cleanupPods(new Set([...workingPods].filter(([, state]) => state === "SyncPod").map(([podUid]) => podUid)));

  const runningPods = await runtime.getPods(false, signal);
  killOrphans(deps, allPods, runningPods, workingPods);
  statusManager.removeOrphanedStatuses(new Set([...allPods, ...mirrorPods].map(({ metadata }) => metadata.uid)));
  await cleanupOrphanedPodDirs(deps, allPods, runningPods, workingPods);
  await deleteOrphanedMirrorPods(deps, signal);
  backOff.gc();
  restartPods(deps, allPods, workingPods);
}

/** Ends pods that run but are in no source: deleted while no kubelet was running. */
function killOrphans(
  { podWorkers, trace }: HousekeepingDeps,
  allPods: readonly V1Pod[],
  runningPods: readonly Pod[],
  workingPods: ReadonlyMap<string, PodWorkerState>,
): void {
  const observer = new PodsObserver(trace);
  const known = new Set(allPods.map(({ metadata }) => metadata.uid));
  for (const runningPod of runningPods) {
    const { podUid } = runningPod;
    const state = workingPods.get(podUid);
    if (state === "SyncPod" || state === "TerminatingPod" || known.has(podUid)) continue;
    observer.endsOrphan(runningPod);
    const killPodOptions = { podTerminationGracePeriodSecondsOverride: ORPHAN_GRACE_SECONDS };
    podWorkers.updatePod({ updateType: "kill", runningPod, killPodOptions });
  }
}

/** Mirrors cleanupOrphanedPodDirs in pkg/kubelet/kubelet_volumes.go. */
async function cleanupOrphanedPodDirs(
  { podDirs, volumes, trace }: HousekeepingDeps,
  allPods: readonly V1Pod[],
  runningPods: readonly Pod[],
  workingPods: ReadonlyMap<string, PodWorkerState>,
): Promise<void> {
  const observer = new PodsObserver(trace);
  const inUse = new Set([
    ...allPods.map(({ metadata }) => metadata.uid),
    ...runningPods.map(({ podUid }) => podUid),
    ...workingPods.keys(),
  ]);
  for (const podUid of await podDirs.listPods()) {
    if (inUse.has(podUid) || volumes.podVolumesExist(podUid)) continue;
    try {
      await podDirs.removePodDir(podUid);
      observer.removedPodDir(podUid);
    } catch (error) {
      observer.podDirNotRemoved(podUid, error);
    }
  }
}

/** The mirror pod stays until its static pod has ended. */
async function deleteOrphanedMirrorPods(deps: HousekeepingDeps, signal: AbortSignal): Promise<void> {
  for (const podFullName of deps.podManager.getOrphanedMirrorPodNames()) {
    if (deps.podWorkers.isPodForMirrorPodTerminatingByFullName(podFullName)) continue;
    await deps.mirrorClient.deleteMirrorPod(podFullName, undefined, "its static pod is gone from all sources", signal);
  }
}

/** Starts pods that came back with their old uid while the first one was ending. */
function restartPods(
  deps: HousekeepingDeps,
  allPods: readonly V1Pod[],
  workingPods: ReadonlyMap<string, PodWorkerState>,
): void {
  for (const pod of allPods) {
    if (workingPods.get(pod.metadata.uid) !== "TerminatedAndRecreatedPod") continue;
    if (!isAdmittedPodTerminal(deps, pod)) deps.handlers.dispatchWork(pod, "create", deps.clock.now());
  }
}
