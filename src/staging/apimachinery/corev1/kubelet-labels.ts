/** Reserved labels that a kubelet can set on its node. Mirrors k8s.io/kubelet/pkg/apis/well_known_labels.go. */
export const KUBELET_LABELS: ReadonlySet<string> = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/arch",
  "kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
]);

export const KUBELET_LABEL_NAMESPACES = ["kubelet.kubernetes.io", "node.kubernetes.io"] as const;

/** Reports whether the label is Kubernetes' own and a kubelet is not allowed to set it on its node. */
export function isReservedForOthers(label: string): boolean {
  const isBelow = (domain: string) => isLabelBelow(label, domain);
  if (!isBelow("kubernetes.io") && !isBelow("k8s.io")) return false;
  return !KUBELET_LABELS.has(label) && !KUBELET_LABEL_NAMESPACES.some(isBelow);
}

/** Reports whether the label's namespace is the domain, or one below it. */
export function isLabelBelow(label: string, domain: string): boolean {
  const namespace = label.includes("/") ? label.slice(0, label.indexOf("/")) : "";
  return namespace === domain || namespace.endsWith(`.${domain}`);
}
