import { canAdmitPod } from "../../lifecycle/admit.js";
import { handlePodCleanups } from "../../sync/housekeeping.js";
import { PodHandlers } from "../../sync/pod-handlers.js";
import { getPodsToSync } from "../../sync/pods-to-sync.js";
import { ReclaimedPods } from "../../sync/reclaimed-pods.js";
import { SyncLoop } from "../../sync/sync-loop.js";
import type { WithAdmission } from "./admission.js";
import { cleanUpContainersInPod, syncDeps } from "./pod-workers.js";

/** The sync loop, its channels and its handlers. */
export function newSyncLoop(kubelet: WithAdmission) {
  const handlers = newPodHandlers(kubelet);
  return { handlers, loop: newLoop(kubelet, handlers) };
}

/** What the sync loop calls for the pods of an update: HandlePodAdditions and the others. */
function newPodHandlers(kubelet: WithAdmission): PodHandlers {
  return new PodHandlers(
    {
      ...syncDeps(kubelet),
      podWorkers: kubelet.podWorkers,
      containerDeletor: kubelet.containerDeletor,
      canAdmitPod: (active, pod) => canAdmitPod(kubelet.admitHandlers, active, pod),
    },
    kubelet.options,
  );
}

/** The sync loop, its channels and its handler, as Run passes them to syncLoop. */
function newLoop(kubelet: WithAdmission, handlers: PodHandlers): SyncLoop {
  const { podWorkers, podConfig, plegEvents, podDeletionSafety, prober, workQueue, podManager, activeDeadline } =
    kubelet;
  const common = { ...syncDeps(kubelet), podWorkers };
  const reclaimed = new ReclaimedPods({ ...common, podDeletionSafety }, kubelet.signal);
  return new SyncLoop({
    ...common,
    handler: {
      handlePodAdditions: (pods) => handlers.handlePodAdditions(pods),
      handlePodUpdates: (pods) => handlers.handlePodUpdates(pods),
      handlePodRemoves: (pods) => handlers.handlePodRemoves(pods),
      handlePodReconcile: (pods) => handlers.handlePodReconcile(pods),
      handlePodSyncs: (pods) => handlers.handlePodSyncs(pods),
      handlePodCleanups: (signal) => handlePodCleanups({ ...common, handlers }, signal),
    },
    channels: {
      configCh: (signal) => podConfig.updates(signal),
      plegCh: (signal) => plegEvents.iterate(signal),
      livenessUpdates: (signal) => prober.livenessManager.updates(signal),
      readinessUpdates: (signal) => prober.readinessManager.updates(signal),
      startupUpdates: (signal) => prober.startupManager.updates(signal),
    },
    podsToSync: () => getPodsToSync({ workQueue, podManager, activeDeadline }),
    // Differs: our PLEG relists as soon as a pod is killed, so a death can arrive before the worker notes it; the
    // worker then removes the pod's remaining containers (syncTerminatedPod).
    cleanUpContainersInPod: (podUid, exitedId) => {
      if (!podWorkers.isPodCleaningUp(podUid)) cleanUpContainersInPod(kubelet, podWorkers, podUid, exitedId);
    },
    onContainerRemoved: (podUid) => reclaimed.look(podUid),
  });
}
