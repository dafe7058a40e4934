import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { getPodQos, type QosClass } from "../../staging/apimachinery/corev1/qos.js";

/** Mirrors defaultNodeAllocatableCgroupName. */
const ROOT = "kubepods";
const PARENTS: Readonly<Record<QosClass, readonly string[]>> = {
  Guaranteed: [ROOT],
  Burstable: [ROOT, "burstable"],
  BestEffort: [ROOT, "besteffort"],
};

/** The notation of cgroup names. Mirrors cgroupDriver of a KubeletConfiguration. */
export type CgroupDriver = "cgroupfs" | "systemd";

/**
 * The cgroup of a pod, which is the parent of its containers' cgroups: below that of its quality of service class.
 *
 * Mirrors GetPodContainerName in pkg/kubelet/cm/pod_container_manager_linux.go, and ToCgroupfs and ToSystemd in
 * cgroup_manager_linux.go. Pure.
 */
export function podCgroupParent(pod: V1Pod, driver: CgroupDriver = "cgroupfs"): string {
  const parts = [...PARENTS[getPodQos(pod.spec)], `pod${pod.metadata.uid}`];
  if (driver === "cgroupfs") return `/${parts.join("/")}`;
  // A slice's name contains those of its parents, separated by dashes, so that a part cannot contain one.
  const escaped = parts.map((part) => part.replaceAll("-", "_"));
  return `/${escaped.map((_, i) => `${escaped.slice(0, i + 1).join("-")}.slice`).join("/")}`;
}
