import type { KubeObject } from "../../../../apimachinery/api/meta.js";
import { isQualifiedName } from "../../../../apimachinery/api/names.js";
import type { FieldError } from "../../../../apimachinery/errors.js";
import { factFor } from "../../../../release/facts.js";
import { timestamp } from "../../object-meta.js";
import { type Fields, fields, items, text } from "../access.js";
import { duplicate, forbidden, invalidValue } from "../field-errors.js";

/**
 * Gates hold a pod back from the scheduler until whoever set them takes them away. Since v1.27; before, they are dropped.
 * Mirrors pkg/api/pod/util.go, pkg/registry/core/pod/strategy.go and pkg/apis/core/validation/validation.go.
 */

const GATES = "spec.schedulingGates";
const GATED = "SchedulingGated";

export function gateNames(spec: Fields): readonly string[] {
  return items(spec.schedulingGates).map((one) => text(fields(one).name));
}

/** A new pod, with the condition that says why nobody looks at it. Mirrors applySchedulingGatedCondition. */
export function withGatedCondition(pod: KubeObject, nowMs: number): KubeObject {
  const spec = fields(pod.spec);
  if (gateNames(spec).length === 0) return pod;
  const gated = {
    type: "PodScheduled",
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: timestamp(nowMs),
    reason: GATED,
    message: "Scheduling is blocked due to non-empty scheduling gates",
  };
  return { ...pod, status: { ...fields(pod.status), conditions: [gated] } };
}

/** What a release does not know it does not store. Mirrors dropDisabledFields. */
export function withoutUnknownGates(pod: KubeObject, kubeVersion: string): KubeObject {
  const { schedulingGates } = fields(pod.spec);
  if (schedulingGates === undefined || factFor("podSchedulingReadiness", kubeVersion)) return pod;
  const { schedulingGates: _unknown, ...spec } = fields(pod.spec);
  return { ...pod, spec };
}

/** Mirrors validateSchedulingGates, and the rule about nodeName. */
export function validateGates(spec: Fields): FieldError[] {
  const names = gateNames(spec);
  return names.flatMap((name, index) => {
    const field = `${GATES}[${index}]`;
    const problems = isQualifiedName(name).map((one) => invalidValue(field, name, one));
    return names.indexOf(name) < index ? [...problems, duplicate(field, name)] : problems;
  });
}

/** A pod with gates has no node yet. Mirrors ValidatePodCreate. */
export function validateGatedNode(spec: Fields): FieldError[] {
  if (gateNames(spec).length === 0 || text(spec.nodeName) === "") return [];
  return [forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")];
}

/** Gates only go. Mirrors validateOnlyDeletedSchedulingGates. */
export function validateGateRemoval(spec: Fields, before: Fields): FieldError[] {
  const old = gateNames(before);
  return gateNames(spec).flatMap((name, index) => {
    if (old.includes(name)) return [];
    return [forbidden(`${GATES}[${index}]`, `only deletion is allowed, but found new scheduling gate '${name}'`)];
  });
}

/** Mirrors printPod: gated pods say so in their status column. */
export function isGated(status: Fields): boolean {
  return items(status.conditions)
    .map(fields)
    .some(({ type, reason }) => type === "PodScheduled" && reason === GATED);
}
