import type { V1Pod } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../../staging/apimachinery/api/meta.js";
import { isQualifiedName } from "../../../../../staging/apimachinery/api/names.js";
import type { V1PodSpec, V1PodStatus } from "../../../../../staging/apimachinery/api/pod.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { factFor } from "../../../../../util/release/facts.js";
import { duplicate, forbidden, invalidValue } from "../../rest/field-errors.js";
import { timestamp } from "../../rest/object-meta.js";

/**
 * Gates keep a pod from the scheduler until the client that set them removes them. Since v1.27; older releases drop them.
 * Mirrors pkg/api/pod/util.go, pkg/registry/core/pod/strategy.go and pkg/apis/core/validation/validation.go.
 */

const GATES = "spec.schedulingGates";
const GATED = "SchedulingGated";

type GatedSpec = Pick<Partial<V1PodSpec>, "schedulingGates" | "nodeName">;

export function gateNames({ schedulingGates }: GatedSpec): readonly string[] {
  return (schedulingGates ?? []).map(({ name }) => name);
}

/** Adds the condition that explains why the scheduler ignores the pod. Mirrors applySchedulingGatedCondition. */
export function withGatedCondition(pod: Wire<V1Pod>, nowMs: number): KubeObject {
  if (gateNames(pod.spec ?? {}).length === 0) return pod;
  const gated = {
    type: "PodScheduled",
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: timestamp(nowMs),
    reason: GATED,
    message: "Scheduling is blocked due to non-empty scheduling gates",
  };
  return { ...pod, status: { ...pod.status, conditions: [gated] } };
}

/** Drops gates that the release does not know. Mirrors dropDisabledFields. */
export function withoutUnknownGates(pod: Wire<V1Pod>, kubeVersion: string): Wire<V1Pod> {
  if (pod.spec?.schedulingGates === undefined || factFor("podSchedulingReadiness", kubeVersion)) return pod;
  const { schedulingGates: _unknown, ...spec } = pod.spec;
  return { ...pod, spec };
}

/** Mirrors validateSchedulingGates, and the rule about nodeName. */
export function validateGates(spec: GatedSpec): FieldError[] {
  const names = gateNames(spec);
  return names.flatMap((name, index) => {
    const field = `${GATES}[${index}]`;
    const problems = isQualifiedName(name).map((one) => invalidValue(field, name, one));
    return names.indexOf(name) < index ? [...problems, duplicate(field, name)] : problems;
  });
}

/** A pod with gates cannot have a node yet. Mirrors ValidatePodCreate. */
export function validateGatedNode(spec: GatedSpec): FieldError[] {
  if (gateNames(spec).length === 0 || (spec.nodeName ?? "") === "") return [];
  return [forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")];
}

/** Gates can only be removed. Mirrors validateOnlyDeletedSchedulingGates. */
export function validateGateRemoval(spec: GatedSpec, before: GatedSpec): FieldError[] {
  const old = gateNames(before);
  return gateNames(spec).flatMap((name, index) => {
    if (old.includes(name)) return [];
    return [forbidden(`${GATES}[${index}]`, `only deletion is allowed, but found new scheduling gate '${name}'`)];
  });
}

/** Reports whether kubectl's status column shows that the pod is gated. Mirrors printPod. */
export function isGated({ conditions }: V1PodStatus): boolean {
  return (conditions ?? []).some(({ type, reason }) => type === "PodScheduled" && reason === GATED);
}
