import type { KubeObject } from "../../api/meta.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../auth/contracts.js";
import { fields, items, text } from "../registry/resources/access.js";
import { isPodWrite } from "./attributes.js";

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";

/** How long a pod stays on a node that is lost, unless it says so itself. */
const DEFAULT_TOLERATION_SECONDS = 300;

/**
 * Every pod outlives five minutes of trouble with its node.
 * Mirrors plugin/pkg/admission/defaulttolerationseconds/admission.go (Plugin.Admit).
 */
export const defaultTolerationSeconds: AdmissionPlugin = {
  name: "DefaultTolerationSeconds",
  async admit(attributes) {
    const { object: pod } = attributes;
    if (pod === undefined || !isPodWrite(attributes)) return pod;
    const spec = fields(pod.spec);
    const tolerations = items(spec.tolerations);
    const missing = [NOT_READY, UNREACHABLE].filter((key) => !toleratesNoExecute(tolerations, key));
    if (missing.length === 0) return pod;
    const added = missing.map((key) => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: DEFAULT_TOLERATION_SECONDS,
    }));
    return { ...pod, spec: { ...spec, tolerations: [...tolerations, ...added] } };
  },
};

/** An empty key or effect stands for all of them. */
function toleratesNoExecute(tolerations: readonly unknown[], taintKey: string): boolean {
  return tolerations.map(fields).some(({ key, effect }) => {
    const isKey = text(key) === taintKey || text(key) === "";
    return isKey && (effect === "NoExecute" || text(effect) === "");
  });
}

/**
 * A new node gets no pods before a controller has seen that it is ready.
 * Mirrors plugin/pkg/admission/nodetaint/admission.go (Plugin.Admit).
 */
export const taintNodesByCondition: AdmissionPlugin = {
  name: "TaintNodesByCondition",
  async admit({
    operation,
    group,
    resource,
    subresource,
    object: node,
  }: AdmissionAttributes): Promise<KubeObject | undefined> {
    const isNewNode = operation === "CREATE" && group === "" && resource === "nodes" && subresource === "";
    if (node === undefined || !isNewNode) return node;
    const spec = fields(node.spec);
    const taints = items(spec.taints);
    const isTainted = taints.map(fields).some((one) => one.key === NOT_READY && one.effect === "NoSchedule");
    if (isTainted) return node;
    return { ...node, spec: { ...spec, taints: [...taints, { key: NOT_READY, effect: "NoSchedule" }] } };
  },
};
