import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { defined } from "../../../util/defined.js";
import { AllocateResourcesAdmitHandler } from "../../cm/allocate-resources.js";
import { evictionConfig } from "../../eviction/config.js";
import { EvictionManager } from "../../eviction/eviction-manager.js";
import type { PodAdmitHandler } from "../../lifecycle/admit.js";
import { PredicateAdmitHandler } from "../../lifecycle/predicate.js";
import { CriticalPodAdmissionHandler } from "../../lifecycle/preemption.js";
import { SysctlAllowlist } from "../../lifecycle/sysctl-allowlist.js";
import { shutdownPeriods } from "../../nodeshutdown/groups.js";
import { NodeShutdownManager } from "../../nodeshutdown/manager.js";
import { NODE_OS } from "../../nodestatus/machine.js";
import { type KillPodNowOptions, killPodNow } from "../../podworkers/kill-pod.js";
import { filterOutInactivePods } from "../../sync/active-pods.js";
import type { WithPodWorkers } from "./pod-workers.js";

export type WithAdmission = WithPodWorkers & ReturnType<typeof newAdmission>;

/** What a pod must pass before it starts, in upstream's order, and what evicts pods. */
export function newAdmission(kubelet: WithPodWorkers) {
  const evictionManager = newEvictionManager(kubelet);
  const shutdownManager = newShutdownManager(kubelet);
  const admitHandlers: readonly PodAdmitHandler[] = [
    evictionManager,
    new SysctlAllowlist(kubelet.config.allowedUnsafeSysctls ?? [], kubelet.options.kubeVersion),
    new AllocateResourcesAdmitHandler(kubelet.deviceManager),
    newPredicates(kubelet),
    shutdownManager,
  ];
  return { evictionManager, shutdownManager, admitHandlers };
}

/** Evicts pods when memory, disk or processes run short. */
function newEvictionManager(kubelet: WithPodWorkers): EvictionManager {
  const { podManager, podDeletionSafety, config, options, statusManager } = kubelet;
  const { summaryProvider, imageGc, containerGc, fileSystems, recorder } = kubelet;
  const eviction = evictionConfig(config, options.kubeVersion);
  // Only this signal needs the processes of pods, which cost a call of the runtime every ten seconds.
  const needsProcesses = eviction.thresholds.some(({ signal }) => signal === "pid.available");
  return new EvictionManager(
    {
      ...{ ...kubelet.ctx, recorder, imageGc, containerGc },
      ...defined({ rankPods: kubelet.deps.hooks?.rankPods }),
      summaryProvider: { get: (update, signal) => summaryProvider.get(update, signal, needsProcesses) },
      agent: kubelet.deps.agent,
      hasDedicatedImageFs: (signal) => fileSystems.hasDedicatedImageFs(signal),
      getActivePods: () => filterOutInactivePods(kubelet, podManager.getPods()),
      podIsCleanedUp: (pod) => {
        const status = statusManager.getPodStatus(pod.metadata.uid) ?? pod.status;
        return podDeletionSafety.podResourcesAreReclaimed(pod, status);
      },
      killPod: (pod, gracePeriodOverrideSeconds, statusFunc) =>
        evict(kubelet, pod, { gracePeriodOverrideSeconds, statusFunc }),
    },
    eviction,
  );
}

/** Ends pods before the machine goes down. */
function newShutdownManager(kubelet: WithPodWorkers): NodeShutdownManager {
  return new NodeShutdownManager(
    {
      ...kubelet.ctx,
      agent: kubelet.deps.agent,
      getActivePods: () => filterOutInactivePods(kubelet, kubelet.podManager.getPods()),
      killPod: (pod, gracePeriodOverrideSeconds, statusFunc, signal) => {
        const killDeps = { ...kubelet.recording, podWorkers: kubelet.podWorkers };
        return killPodNow(killDeps, pod, { isEvicted: false, gracePeriodOverrideSeconds, statusFunc }, signal);
      },
      writeStatuses: (pods, signal) => kubelet.statusManager.syncEnded(pods, signal),
      syncNodeStatus: (signal) => kubelet.deps.agent.heartbeat.update(signal),
    },
    { periods: shutdownPeriods(kubelet.config), kubeVersion: kubelet.options.kubeVersion },
  );
}

function newPredicates(kubelet: WithPodWorkers): PredicateAdmitHandler {
  const { deviceManager, recorder, metrics, options } = kubelet;
  return new PredicateAdmitHandler(
    {
      getNode: kubelet.getNode,
      updatePluginResources: (pod, allocatable) => deviceManager.updatePluginResources(pod, allocatable),
      admissionFailureHandler: new CriticalPodAdmissionHandler(
        { recorder, metrics, evictPod: (pod, statusFunc) => evict(kubelet, pod, { statusFunc }) },
        options,
      ),
    },
    { os: NODE_OS, kubeVersion: options.kubeVersion },
  );
}

function evict(kubelet: WithPodWorkers, pod: V1Pod, options: Omit<KillPodNowOptions, "isEvicted">): Promise<void> {
  const deps = { ...kubelet.recording, podWorkers: kubelet.podWorkers };
  return killPodNow(deps, pod, { ...options, isEvicted: true }, kubelet.signal);
}
