import { isAtLeast, minorOf } from "./facts.js";

/** The first cluster that accepts kubelets three releases older. */
const THREE_MINORS_SINCE = "1.28";

/**
 * Why a kubelet of one release cannot join a cluster of another: it cannot be newer than the API server, and at most
 * two releases older (three from v1.28). https://kubernetes.io/releases/version-skew-policy/#kubelet
 * @returns undefined if it can
 */
export function skewProblem(kubeletVersion: string, clusterVersion: string): string | undefined {
  const older = minorOf(clusterVersion) - minorOf(kubeletVersion);
  if (older < 0) return `a kubelet of v${kubeletVersion} is newer: it cannot be newer than the API server`;
  const [most, words] = isAtLeast(clusterVersion, THREE_MINORS_SINCE) ? [3, "three"] : [2, "two"];
  if (older <= most) return undefined;
  return `a kubelet of v${kubeletVersion} is too old: v${clusterVersion} accepts kubelets that are at most ${words} minor versions older`;
}
