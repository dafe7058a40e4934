import type { V1Pod, V1PodStatus } from "../../../staging/apimachinery/api/pod.js";
import type { PodStatus } from "../../container/runtime.js";
import { generateApiPodStatus } from "../../kubelet-pods/api-pod-status.js";
import { canAdmitPod } from "../../lifecycle/admit.js";
import { handlePodCleanups } from "../../sync/housekeeping.js";
import { PodHandlers } from "../../sync/pod-handlers.js";
import { KubeletPodSyncer } from "../../sync/pod-syncer.js";
import { getPodsToSync } from "../../sync/pods-to-sync.js";
import { ReclaimedPods } from "../../sync/reclaimed-pods.js";
import { SyncLoop } from "../../sync/sync-loop.js";
import type { Kubelet } from "../kubelet.js";

/** What pod workers call: syncPod, syncTerminatingPod and syncTerminatedPod. */
export function newPodSyncer(kubelet: Kubelet): KubeletPodSyncer {
  const { objectManagers, tokens, pleg } = kubelet;
  return new KubeletPodSyncer(
    {
      ...syncDeps(kubelet),
      generateApiPodStatus: (pod, status, podIsTerminal) => apiPodStatus(kubelet, pod, status, podIsTerminal),
      podWorkers: { isPodTerminationRequested: (podUid) => kubelet.podWorkers.isPodTerminationRequested(podUid) },
      objects: {
        registerPod: (pod) => objectManagers.registerPod(pod),
        unregisterPod: (pod) => {
          objectManagers.unregisterPod(pod);
          tokens.deleteServiceAccountToken(pod.metadata.uid);
        },
        getPullSecret: (namespace, name, signal) => objectManagers.getPullSecret(namespace, name, signal),
      },
      removeDeadContainers: (podUid) => cleanUpContainersInPod(kubelet, podUid, ""),
      onChanged: () => pleg.relistSoon(),
    },
    kubelet.options,
  );
}

/** What the sync loop calls for the pods of an update: HandlePodAdditions and the others. */
export function newPodHandlers(kubelet: Kubelet): PodHandlers {
  return new PodHandlers(
    {
      ...syncDeps(kubelet),
      containerDeletor: kubelet.containerDeletor,
      canAdmitPod: (active, pod) => canAdmitPod(kubelet.admitHandlers, active, pod),
    },
    kubelet.options,
  );
}

/** The sync loop, its channels and its handler, as Run passes them to syncLoop. */
export function newSyncLoop(kubelet: Kubelet): SyncLoop {
  const { handlers, podConfig, plegEvents, podDeletionSafety, prober, workQueue, podManager, activeDeadline } = kubelet;
  const common = syncDeps(kubelet);
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
      if (!kubelet.podWorkers.isPodCleaningUp(podUid)) cleanUpContainersInPod(kubelet, podUid, exitedId);
    },
    onContainerRemoved: (podUid) => reclaimed.look(podUid),
  });
}

/** What the pod syncer, the handlers and the sync loop have in common. */
function syncDeps(kubelet: Kubelet) {
  const { recorder, podManager, podWorkers, podCache, statusManager, sourcesReady, runtimeState, podDirs } = kubelet;
  const { runtime, prober, volumes, reasonCache, mirrorClient, backOff } = kubelet;
  const pods = { recorder, podManager, podWorkers, podCache, statusManager, sourcesReady, runtimeState, podDirs };
  return { ...kubelet.ctx, ...pods, runtime, prober, volumes, reasonCache, mirrorClient, backOff };
}

function apiPodStatus(kubelet: Kubelet, pod: V1Pod, podStatus: PodStatus, podIsTerminal: boolean): V1PodStatus {
  const { statusManager, prober, reasonCache, runtime, options, deps } = kubelet;
  const statusDeps = { ...kubelet.ctx, statusManager, probeManager: prober, reasonCache };
  const node = { runtimeName: runtime.type, kubeVersion: options.kubeVersion, hostIps: [kubelet.nodeIp] };
  const status = generateApiPodStatus(statusDeps, node, pod, podStatus, podIsTerminal);
  return kubelet.activeDeadline.apply(pod, deps.hooks?.podStatus?.(pod, status) ?? status);
}

/** Mirrors cleanUpContainersInPod. */
function cleanUpContainersInPod(kubelet: Kubelet, podUid: string, exitedContainerId: string): void {
  const { status } = kubelet.podCache.get(podUid);
  const removeAll = kubelet.podWorkers.shouldPodContentBeRemoved(podUid);
  if (status !== undefined) kubelet.containerDeletor.deleteContainersInPod(exitedContainerId, status, removeAll);
}
