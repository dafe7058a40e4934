import type { V1Pod, V1PodStatus } from "../../../staging/apimachinery/api/pod.js";
import { parseGoDuration } from "../../../staging/apimachinery/time.js";
import { defined } from "../../../util/defined.js";
import type { PodStatus } from "../../container/runtime.js";
import { generateApiPodStatus } from "../../kubelet-pods/api-pod-status.js";
import { PodWorkers } from "../../podworkers/pod-workers.js";
import { BasicWorkQueue } from "../../podworkers/work-queue.js";
import { ActiveDeadline } from "../../sync/active-deadline.js";
import { KubeletPodSyncer } from "../../sync/pod-syncer.js";
import type { Later } from "./inputs.js";
import type { WithPleg } from "./pleg.js";

export type WithPodWorkers = WithPleg & ReturnType<typeof newPodWorkers>;

/** Pod workers, and the queue and deadlines that make pods due. */
export function newPodWorkers(kubelet: WithPleg, later: Later) {
  const { deps, options, config, recording, statusManager, podCache } = kubelet;
  const activeDeadline = new ActiveDeadline({ ...recording, statusManager });
  const workQueue = new BasicWorkQueue(deps.clock);
  const podWorkers = new PodWorkers(
    {
      ...recording,
      workQueue,
      podCache: deps.hooks?.podCache?.(podCache) ?? podCache,
      syncer: newPodSyncer(kubelet, activeDeadline, later),
    },
    { ...options, resyncIntervalMs: parseGoDuration(config.syncFrequency) },
  );
  return { activeDeadline, workQueue, podWorkers };
}

/** What pod workers call: syncPod, syncTerminatingPod and syncTerminatedPod. */
function newPodSyncer(kubelet: WithPleg, activeDeadline: ActiveDeadline, later: Later): KubeletPodSyncer {
  const { objectManagers, tokens, pleg } = kubelet;
  return new KubeletPodSyncer(
    {
      ...syncDeps(kubelet),
      generateApiPodStatus: (...args) => apiPodStatus(kubelet, activeDeadline, ...args),
      podWorkers: { isPodTerminationRequested: (podUid) => later.podWorkers().isPodTerminationRequested(podUid) },
      objects: {
        registerPod: (pod) => objectManagers.registerPod(pod),
        unregisterPod: (pod) => {
          objectManagers.unregisterPod(pod);
          tokens.deleteServiceAccountToken(pod.metadata.uid);
        },
        getPullSecret: (namespace, name, signal) => objectManagers.getPullSecret(namespace, name, signal),
      },
      removeDeadContainers: (podUid) => cleanUpContainersInPod(kubelet, later.podWorkers(), podUid, ""),
      onChanged: () => pleg.relistSoon(),
    },
    kubelet.options,
  );
}

/** What the pod syncer, the handlers and the sync loop have in common. */
export function syncDeps(kubelet: WithPleg) {
  const { recorder, podManager, podCache, statusManager, sourcesReady, runtimeState, podDirs } = kubelet;
  const { runtime, prober, volumes, reasonCache, mirrorClient, backOff } = kubelet;
  const pods = { recorder, podManager, podCache, statusManager, sourcesReady, runtimeState, podDirs };
  return { ...kubelet.ctx, ...pods, runtime, prober, volumes, reasonCache, mirrorClient, backOff };
}

function apiPodStatus(
  kubelet: WithPleg,
  activeDeadline: ActiveDeadline,
  pod: V1Pod,
  podStatus: PodStatus,
  podIsTerminal: boolean,
): V1PodStatus {
  const { statusManager, prober, reasonCache, runtime, options, deps } = kubelet;
  const own = defined({ getPhase: deps.hooks?.getPhase });
  const statusDeps = { ...kubelet.ctx, statusManager, probeManager: prober, reasonCache, ...own };
  const node = { runtimeName: runtime.type, kubeVersion: options.kubeVersion, hostIps: [kubelet.nodeIp] };
  const status = generateApiPodStatus(statusDeps, node, pod, podStatus, podIsTerminal);
  return activeDeadline.apply(pod, deps.hooks?.podStatus?.(pod, status) ?? status);
}

/** Mirrors cleanUpContainersInPod. */
export function cleanUpContainersInPod(
  { podCache, containerDeletor }: WithPleg,
  podWorkers: PodWorkers,
  podUid: string,
  exitedContainerId: string,
): void {
  const { status } = podCache.get(podUid);
  const removeAll = podWorkers.shouldPodContentBeRemoved(podUid);
  if (status !== undefined) containerDeletor.deleteContainersInPod(exitedContainerId, status, removeAll);
}
