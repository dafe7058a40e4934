import { isAtLeast, minorOf, OLDEST_RELEASE } from "./facts.js";

/** The first cluster that accepts kubelets three releases older. */
const THREE_MINORS_SINCE = "1.28";

/**
 * The oldest kubelet that a cluster accepts: two releases older, three from v1.28.
 * https://kubernetes.io/releases/version-skew-policy/#kubelet
 */
export function oldestKubelet(clusterVersion: string): string {
  return `1.${minorOf(clusterVersion) - (isAtLeast(clusterVersion, THREE_MINORS_SINCE) ? 3 : 2)}`;
}

/** The release of the cluster that a kubelet starts for itself: a kubelet can be older than all that it can embed. */
export function clusterForKubelet(kubeletVersion: string): string {
  return isAtLeast(kubeletVersion, OLDEST_RELEASE) ? kubeletVersion : OLDEST_RELEASE;
}

/**
 * Why a kubelet of one release cannot join a cluster of another: it cannot be newer than the API server, nor older than
 * `oldestKubelet`.
 * @returns undefined if it can
 */
export function skewProblem(kubeletVersion: string, clusterVersion: string): string | undefined {
  const oldest = oldestKubelet(clusterVersion);
  const accepted = `v${clusterVersion} accepts kubelets of v${oldest} to v${clusterVersion}`;
  if (!isAtLeast(clusterVersion, kubeletVersion)) {
    return `a kubelet of v${kubeletVersion} cannot be newer than the API server: ${accepted}`;
  }
  return isAtLeast(kubeletVersion, oldest) ? undefined : `a kubelet of v${kubeletVersion} is too old: ${accepted}`;
}
