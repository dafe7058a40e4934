import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { Draft } from "../../util/draft.js";
import type { AdmissionPlugin } from "../auth/contracts.js";
import { type Fields, fields, items, text } from "../registry/resources/access.js";
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
  handles: isPodWrite,
  admit({ object: pod }) {
    if (pod === undefined) return pod;
    const spec = fields(pod.spec);
    const before = items(spec.tolerations);
    const tolerations = [...before];
    for (const key of [NOT_READY, UNREACHABLE]) {
      if (toleratesNoExecute(before, key)) continue;
      tolerations.push({
        key,
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: DEFAULT_TOLERATION_SECONDS,
      });
    }
    if (tolerations.length === before.length) return pod;
    const tolerant: Draft<Fields> = { ...spec };
    tolerant.tolerations = tolerations;
    const admitted: Draft<KubeObject> = { ...pod };
    admitted.spec = tolerant;
    return admitted;
  },
};

/** An empty key or effect stands for all of them. */
function toleratesNoExecute(tolerations: readonly unknown[], taintKey: string): boolean {
  return tolerations.some((one) => {
    const { key, effect } = fields(one);
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
  handles: ({ operation, group, resource, subresource }) =>
    operation === "CREATE" && group === "" && resource === "nodes" && subresource === "",
  admit({ object: node }) {
    if (node === undefined) return node;
    const spec = fields(node.spec);
    const taints = items(spec.taints);
    const isTainted = taints.map(fields).some((one) => one.key === NOT_READY && one.effect === "NoSchedule");
    if (isTainted) return node;
    return { ...node, spec: { ...spec, taints: [...taints, { key: NOT_READY, effect: "NoSchedule" }] } };
  },
};
