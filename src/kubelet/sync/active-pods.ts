import { isPodPhaseTerminal, type V1Pod, type V1PodStatus } from "../../staging/apimachinery/api/pod.js";

export interface ActivePodsDeps {
  readonly podWorkers: {
    isPodKnownTerminated(podUid: string): boolean;
    isPodTerminationRequested(podUid: string): boolean;
  };
  readonly statusManager: { getPodStatus(podUid: string): V1PodStatus | undefined };
}

/**
 * The pods that use the node's resources: all but terminated ones; terminating ones still count.
 * Mirrors filterOutInactivePods in pkg/kubelet/kubelet_pods.go.
 */
export function filterOutInactivePods(deps: ActivePodsDeps, pods: readonly V1Pod[]): V1Pod[] {
  const { podWorkers } = deps;
  return pods.filter((pod) => {
    const { uid } = pod.metadata;
    if (podWorkers.isPodKnownTerminated(uid)) return false;
    return !isAdmittedPodTerminal(deps, pod) || podWorkers.isPodTerminationRequested(uid);
  });
}

/**
 * The pod is terminal in the API or for the kubelet (which may have rejected it).
 * Mirrors isAdmittedPodTerminal.
 */
export function isAdmittedPodTerminal({ statusManager }: Pick<ActivePodsDeps, "statusManager">, pod: V1Pod): boolean {
  if (isPodPhaseTerminal(pod.status.phase)) return true;
  return isPodPhaseTerminal(statusManager.getPodStatus(pod.metadata.uid)?.phase);
}
