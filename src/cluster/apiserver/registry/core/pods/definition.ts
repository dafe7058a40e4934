import type { V1Pod } from "@kubernetes/client-node";
import { isPodPhaseTerminal } from "../../../../../staging/apimachinery/api/pod.js";
import { getPodQos, type QosClass } from "../../../../../staging/apimachinery/corev1/qos.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { defined } from "../../../../../util/defined.js";
import type { Strategy } from "../../rest/definition.js";
import { action, row, statusOf } from "../../rest/rows.js";
import { nameWarnings } from "../pod-template.js";
import { withoutUnknownRestartPolicies } from "./container-restart-policy.js";
import { EPHEMERAL_CONTAINERS_STRATEGY } from "./ephemeral-containers.js";
import { withGatedCondition, withoutUnknownGates } from "./scheduling-gates.js";
import { POD_TABLE } from "./table.js";
import { validatePodStatusUpdate, validatePodUpdate } from "./update-validation.js";
import { validatePodCreate } from "./validation.js";
import { warningsForPod } from "./warnings.js";

/** podIP is the first of podIPs; podIPs wins if they differ. Mirrors Convert_v1_PodStatus_To_core_PodStatus. */
function withPodIps(pod: Wire<V1Pod>): Wire<V1Pod> {
  const { status = {} } = pod;
  const { podIP: one = "" } = status;
  const firstIp = status.podIPs?.[0]?.ip ?? "";
  if (one === firstIp) return pod;
  if (one === "") return { ...pod, status: { ...status, podIP: firstIp } };
  return { ...pod, status: { ...status, podIPs: [{ ip: one }] } };
}

function qosOf({ spec }: Wire<V1Pod>): QosClass {
  return getPodQos({ containers: spec?.containers ?? [], initContainers: spec?.initContainers ?? [] });
}

/** Mirrors podStrategy in pkg/registry/core/pod/strategy.go. */
const strategy: Strategy = {
  allowUnconditionalUpdate: true,
  prepareForCreate(sent: Wire<V1Pod>, { kubeVersion, nowMs }) {
    const pod = withoutUnknownRestartPolicies(withoutUnknownGates(sent, kubeVersion), kubeVersion);
    return withGatedCondition({ ...pod, status: { phase: "Pending", qosClass: qosOf(pod) } }, nowMs);
  },
  validate: validatePodCreate,
  prepareForUpdate(pod, old) {
    return { ...pod, status: old.status };
  },
  validateUpdate: validatePodUpdate,
  warningsOnCreate: (pod: Wire<V1Pod>, { kubeVersion }) => [
    ...nameWarnings(pod, "the Pod's hostname", kubeVersion),
    ...warningsForPod(pod, "", kubeVersion),
  ],
  gracePeriodSeconds,
};

/**
 * A pod's grace period: that of the request, otherwise its own; 0 if no kubelet has it or it has finished. Mirrors
 * podStrategy.CheckGracefulDelete.
 */
function gracePeriodSeconds({ spec, status }: Wire<V1Pod>, asked: number | undefined): number {
  const phase = status?.phase;
  if (!spec?.nodeName || isPodPhaseTerminal(phase)) return 0;
  const seconds = asked ?? spec.terminationGracePeriodSeconds ?? 0;
  return seconds < 0 ? 1 : seconds;
}

/** Mirrors podStatusStrategy: kubelets write here, but cannot change owner references. */
const statusStrategy: Strategy = {
  prepareForUpdate(pod: Wire<V1Pod>, old: Wire<V1Pod>) {
    const { ownerReferences: _sent, deletionTimestamp: _alsoSent, ...metadata } = pod.metadata;
    const { ownerReferences, deletionTimestamp } = old.metadata;
    return withPodIps({
      ...pod,
      metadata: {
        ...metadata,
        ...(ownerReferences === undefined ? {} : { ownerReferences }),
        ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      },
      ...defined({ spec: old.spec }),
    });
  },
  validateUpdate: validatePodStatusUpdate,
};

/** The action handler or the scheduler has set nodeName and checked everything. */
const BINDING_STRATEGY: Pick<Strategy, "prepareForUpdate"> = {};

/** Mirrors ToSelectableFields in pkg/registry/core/pod/strategy.go. */
function selectableFields({ spec, status }: Wire<V1Pod>): Record<string, string> {
  return {
    "spec.nodeName": spec?.nodeName ?? "",
    "spec.restartPolicy": spec?.restartPolicy ?? "",
    "spec.schedulerName": spec?.schedulerName ?? "",
    "spec.serviceAccountName": spec?.serviceAccountName ?? "",
    "status.phase": status?.phase ?? "",
    "status.podIP": status?.podIPs?.[0]?.ip ?? status?.podIP ?? "",
    "status.nominatedNodeName": status?.nominatedNodeName ?? "",
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
    action("attach", "PodAttachOptions", STREAM_VERBS),
    { ...action("binding", "Binding", ["create"]), strategy: BINDING_STRATEGY },
    { name: "ephemeralcontainers", verbs: ["get", "patch", "update"], strategy: EPHEMERAL_CONTAINERS_STRATEGY },
    { ...action("eviction", "Eviction", ["create"], "policy/v1"), olderVersions: ["v1beta1"] },
    action("exec", "PodExecOptions", STREAM_VERBS),
    { name: "log", verbs: ["get"] },
    action("portforward", "PodPortForwardOptions", STREAM_VERBS),
    action("proxy", "PodProxyOptions", PROXY_VERBS),
    statusOf(statusStrategy),
  ],
});
