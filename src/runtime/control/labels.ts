/** The labels by which a kubelet knows its pods and containers again. Mirrors pkg/kubelet/types/labels.go. */
export const LABELS = {
  podName: "io.kubernetes.pod.name",
  podNamespace: "io.kubernetes.pod.namespace",
  podUid: "io.kubernetes.pod.uid",
  containerName: "io.kubernetes.container.name",
} as const;
