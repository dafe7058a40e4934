/**
 * The labels by which a kubelet recognizes its sandboxes and containers after a restart. Runtimes and tools read them too.
 * Mirrors pkg/kubelet/types/labels.go.
 */
export const POD_NAME_LABEL = "io.kubernetes.pod.name";
export const POD_NAMESPACE_LABEL = "io.kubernetes.pod.namespace";
export const POD_UID_LABEL = "io.kubernetes.pod.uid";
export const CONTAINER_NAME_LABEL = "io.kubernetes.container.name";
