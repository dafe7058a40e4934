/** Reserved labels that a kubelet can set on its node. Mirrors k8s.io/kubelet/pkg/apis/well_known_labels.go. */
const KUBELET_LABELS: ReadonlySet<string> = new Set([
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

const KUBELET_LABEL_NAMESPACES = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const RESTRICTED_NAMESPACE = "node-restriction.kubernetes.io";

type Labels = Readonly<Record<string, string>>;

/**
 * The changed labels that a node is not allowed to modify, sorted.
 * Mirrors plugin/pkg/admission/noderestriction/admission.go (getModifiedLabels, getForbiddenLabels).
 */
export function forbiddenLabelChanges(labels: Labels = {}, oldLabels: Labels = {}): string[] {
  const keys = new Set([...Object.keys(labels), ...Object.keys(oldLabels)]);
  return [...keys].filter((key) => labels[key] !== oldLabels[key] && isForbidden(key)).sort();
}

function isForbidden(label: string): boolean {
  const namespace = label.includes("/") ? label.slice(0, label.indexOf("/")) : "";
  const isBelow = (domain: string) => namespace === domain || namespace.endsWith(`.${domain}`);
  if (isBelow(RESTRICTED_NAMESPACE)) return true;
  if (!isBelow("kubernetes.io") && !isBelow("k8s.io")) return false;
  return !KUBELET_LABELS.has(label) && !KUBELET_LABEL_NAMESPACES.some(isBelow);
}
