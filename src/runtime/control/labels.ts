/** The labels by which a kubelet recognizes its pods and containers. Mirrors pkg/kubelet/types/labels.go. */
export const LABELS = {
  podName: "io.kubernetes.pod.name",
  podNamespace: "io.kubernetes.pod.namespace",
  podUid: "io.kubernetes.pod.uid",
  containerName: "io.kubernetes.container.name",
} as const;
