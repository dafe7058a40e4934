import type { V1Node, V1Pod, V1Toleration } from "@kubernetes/client-node";
import type { V1PodSpec } from "../../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import type { AdmissionPlugin } from "../../../staging/server/admission/interfaces.js";
import type { Draft } from "../../../util/draft.js";
import { isPodWrite } from "./attributes.js";

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";

/** How long a pod stays on an unreachable node unless it sets its own time. */
const DEFAULT_TOLERATION_SECONDS = 300;

/**
 * Adds tolerations to a pod, so that it survives five minutes of problems with its node.
 * Mirrors plugin/pkg/admission/defaulttolerationseconds/admission.go (Plugin.Admit).
 */
export const defaultTolerationSeconds: AdmissionPlugin = {
  name: "DefaultTolerationSeconds",
  handles: isPodWrite,
  admit({ object }) {
    const pod: Wire<V1Pod> | undefined = object;
    if (pod?.spec === undefined) return pod;
    const before = pod.spec.tolerations ?? [];
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
    const spec: Draft<V1PodSpec> = { ...pod.spec };
    spec.tolerations = tolerations;
    const admitted: Draft<Wire<V1Pod>> = { ...pod };
    admitted.spec = spec;
    return admitted;
  },
};

/** An empty key or effect matches all of them. */
function toleratesNoExecute(tolerations: readonly Wire<V1Toleration>[], taintKey: string): boolean {
  return tolerations.some(
    ({ key = "", effect = "" }) => (key === taintKey || key === "") && (effect === "NoExecute" || effect === ""),
  );
}

/**
 * Keeps pods off a new node until a controller has seen it ready.
 * Mirrors plugin/pkg/admission/nodetaint/admission.go (Plugin.Admit).
 */
export const taintNodesByCondition: AdmissionPlugin = {
  name: "TaintNodesByCondition",
  handles: ({ operation, group, resource, subresource }) =>
    operation === "CREATE" && group === "" && resource === "nodes" && subresource === "",
  admit({ object }) {
    const node: Wire<V1Node> | undefined = object;
    if (node === undefined) return node;
    const taints = node.spec?.taints ?? [];
    if (taints.some(({ key, effect }) => key === NOT_READY && effect === "NoSchedule")) return node;
    return { ...node, spec: { ...node.spec, taints: [...taints, { key: NOT_READY, effect: "NoSchedule" }] } };
  },
};
