import type { KubeObject } from "../../../../apimachinery/api/meta.js";
import { getPodQos, type QosClass } from "../../../../apimachinery/corev1/qos.js";
import type { Draft } from "../../../../util/draft.js";
import { isSet } from "../../../../util/records.js";
import type { Strategy } from "../../definition.js";
import { fields, items, number, text } from "../access.js";
import { row, special, statusOf } from "../rows.js";
import { withoutUnknownRestartPolicies } from "./container-restart-policy.js";
import { EPHEMERAL_CONTAINERS_STRATEGY } from "./ephemeral-containers.js";
import { withGatedCondition, withoutUnknownGates } from "./scheduling-gates.js";
import { POD_TABLE } from "./table.js";
import { validatePodStatusUpdate, validatePodUpdate } from "./update-validation.js";
import { validatePodCreate } from "./validation.js";

/** podIP is the first of podIPs; podIPs wins if they differ. Mirrors Convert_v1_PodStatus_To_core_PodStatus. */
function withPodIps(pod: KubeObject): KubeObject {
  const status = fields(pod.status);
  const one = text(status.podIP);
  const [first] = items(status.podIPs);
  const firstIp = text(fields(first).ip);
  if (one === firstIp) return pod;
  if (one === "") return { ...pod, status: { ...status, podIP: firstIp } };
  return { ...pod, status: { ...status, podIPs: [{ ip: one }] } };
}

function qosOf(pod: KubeObject): QosClass {
  const { containers, initContainers } = fields(pod.spec);
  return getPodQos({ containers: items(containers).map(fields), initContainers: items(initContainers).map(fields) });
}

/** Mirrors podStrategy in pkg/registry/core/pod/strategy.go. */
const strategy: Strategy = {
  allowUnconditionalUpdate: true,
  prepareForCreate(sent, { kubeVersion, nowMs }) {
    const pod = withoutUnknownRestartPolicies(withoutUnknownGates(sent, kubeVersion), kubeVersion);
    const pending: Draft<KubeObject> = { ...pod };
    pending.status = { phase: "Pending", qosClass: qosOf(pod) };
    return withGatedCondition(pending, nowMs);
  },
  validate: validatePodCreate,
  prepareForUpdate(pod, old) {
    return { ...pod, status: old.status };
  },
  validateUpdate: validatePodUpdate,
  gracePeriodSeconds,
};

/**
 * A pod's grace period: that of the request, otherwise its own; 0 if no kubelet has it or it has finished. Mirrors
 * podStrategy.CheckGracefulDelete.
 */
function gracePeriodSeconds(pod: KubeObject, asked: number | undefined): number {
  const spec = fields(pod.spec);
  const phase = fields(pod.status).phase;
  if (text(spec.nodeName) === "" || phase === "Succeeded" || phase === "Failed") return 0;
  const seconds = asked ?? number(spec.terminationGracePeriodSeconds) ?? 0;
  return seconds < 0 ? 1 : seconds;
}

/** Mirrors podStatusStrategy: kubelets write here, but cannot change owner references. */
const statusStrategy: Strategy = {
  prepareForUpdate(pod, old) {
    const { ownerReferences: _sent, deletionTimestamp: _alsoSent, ...metadata } = pod.metadata;
    const { ownerReferences, deletionTimestamp } = old.metadata;
    return withPodIps({
      ...pod,
      metadata: {
        ...metadata,
        ...(ownerReferences === undefined ? {} : { ownerReferences }),
        ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      },
      spec: old.spec,
    });
  },
  validateUpdate: validatePodStatusUpdate,
};

/** The special handler or the scheduler has set nodeName and checked everything. */
const BINDING_STRATEGY: Pick<Strategy, "prepareForUpdate"> = {};

/** Mirrors ToSelectableFields in pkg/registry/core/pod/strategy.go. */
function selectableFields(pod: KubeObject): Record<string, string> {
  const spec = fields(pod.spec);
  const status = fields(pod.status);
  const [first] = items(status.podIPs);
  return {
    "spec.nodeName": text(spec.nodeName),
    "spec.restartPolicy": text(spec.restartPolicy),
    "spec.schedulerName": text(spec.schedulerName),
    "spec.serviceAccountName": text(spec.serviceAccountName),
    "status.phase": text(status.phase),
    "status.podIP": isSet(first) ? text(fields(first).ip) : text(status.podIP),
    "status.nominatedNodeName": text(status.nominatedNodeName),
  };
}

const STREAM_VERBS = ["create", "get"];
const PROXY_VERBS = ["create", "delete", "get", "patch", "update"];

export const PODS = row("v1", "Pod", "pods", strategy, {
  shortNames: ["po"],
  categories: ["all"],
  deleteReturnsObject: true,
  selectableFields,
  table: POD_TABLE,
  subresources: [
    special("attach", "PodAttachOptions", STREAM_VERBS),
    { ...special("binding", "Binding", ["create"]), strategy: BINDING_STRATEGY },
    { name: "ephemeralcontainers", verbs: ["get", "patch", "update"], strategy: EPHEMERAL_CONTAINERS_STRATEGY },
    { ...special("eviction", "Eviction", ["create"], "policy/v1"), olderVersions: ["v1beta1"] },
    special("exec", "PodExecOptions", STREAM_VERBS),
    { name: "log", verbs: ["get"] },
    special("portforward", "PodPortForwardOptions", STREAM_VERBS),
    special("proxy", "PodProxyOptions", PROXY_VERBS),
    statusOf(statusStrategy),
  ],
});
