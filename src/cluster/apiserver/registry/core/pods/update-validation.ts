import { isIP } from "node:net";
import type { V1Pod } from "@kubernetes/client-node";
import { isDns1123Subdomain, isValidIp } from "../../../../../staging/apimachinery/api/names.js";
import {
  sidecarsOf,
  type V1PodSpec,
  type V1PodStatus,
  type V1Toleration,
} from "../../../../../staging/apimachinery/api/pod.js";
import { MIRROR_POD_ANNOTATION } from "../../../../../staging/apimachinery/corev1/pod-references.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../../util/records.js";
import { addErrors, duplicate, forbidden, goValue, invalidValue } from "../../rest/field-errors.js";
import { validateImage } from "./container-validation.js";
import { validateGateRemoval } from "./scheduling-gates.js";
import { podSpecDiff } from "./spec-diff.js";
import { validateMirrorAnnotation, validatePod, validateTolerations } from "./validation.js";

/** Mirrors ValidatePodUpdate and ValidatePodStatusUpdate in pkg/apis/core/validation/validation.go. */

const MAY_CHANGE =
  "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const NO_SPEC: V1PodSpec = { containers: [] };
const MAX_INT32 = 2 ** 31 - 1;
const DEADLINE = "spec.activeDeadlineSeconds";

export function validatePodUpdate(pod: Wire<V1Pod>, old: Wire<V1Pod>): FieldError[] {
  const { spec = NO_SPEC } = pod;
  const { spec: before = NO_SPEC } = old;
  const errors = [...validatePod(pod), ...mirrorAnnotationErrors(pod, old)];
  for (const kind of ["containers", "initContainers"] as const) {
    const containers = spec[kind] ?? [];
    if (containers.length !== (before[kind] ?? []).length) {
      return [...errors, forbidden(`spec.${kind}`, "pod updates may not add or remove containers")];
    }
    addErrors(
      errors,
      containers.flatMap((one, index) => validateImage(one, `spec.${kind}[${index}]`)),
    );
  }
  const deadline = deadlineError(spec.activeDeadlineSeconds, before.activeDeadlineSeconds);
  if (deadline !== undefined) return [...errors, deadline];
  addErrors(errors, [...tolerationErrors(spec, before), ...validateGateRemoval(spec, before)]);
  const munged = withAllowedChanges(spec, before);
  if (!semanticallyEqual(munged, before)) {
    errors.push(forbidden("spec", `${MAY_CHANGE}\n${podSpecDiff(before, munged)}`));
  }
  return errors;
}

/** The mirror pod annotation cannot be added or removed. Mirrors ValidatePodSpecificAnnotationUpdates. */
function mirrorAnnotationErrors(pod: Wire<V1Pod>, old: Wire<V1Pod>): FieldError[] {
  const field = `metadata.annotations[${MIRROR_POD_ANNOTATION}]`;
  const after = pod.metadata.annotations?.[MIRROR_POD_ANNOTATION];
  const before = old.metadata.annotations?.[MIRROR_POD_ANNOTATION];
  const errors = validateMirrorAnnotation(pod);
  if (after === before) return errors;
  const why =
    before === undefined ? "may not add mirror pod annotation" : "may not remove or update mirror pod annotation";
  return [forbidden(field, why), ...errors];
}

function deadlineError(seconds: number | undefined, before: number | undefined): FieldError | undefined {
  if (seconds === undefined) {
    if (before === undefined) return undefined;
    return invalidValue(DEADLINE, goValue("<nil>"), "must not update from a positive integer to nil value");
  }
  if (seconds < 0 || seconds > MAX_INT32) {
    return invalidValue(DEADLINE, seconds, `must be between 0 and ${MAX_INT32}, inclusive`);
  }
  if (before === undefined || seconds <= before) return undefined;
  return invalidValue(DEADLINE, seconds, "must be less than or equal to previous value");
}

/** Mirrors validateOnlyAddedTolerations. */
function tolerationErrors(spec: V1PodSpec, before: V1PodSpec): FieldError[] {
  const now = new Set((spec.tolerations ?? []).map(tolerationKey));
  const isKept = (before.tolerations ?? []).every((one) => now.has(tolerationKey(one)));
  if (isKept) return validateTolerations(spec.tolerations);
  return [forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
}

/** What two tolerations have in common that differ at most in their tolerationSeconds. */
function tolerationKey({ key, operator, value, effect }: V1Toleration): string {
  return JSON.stringify([key, operator, value, effect].map((one) => one ?? ""));
}

/** The new spec with the allowed changes undone: any remaining difference is forbidden. */
function withAllowedChanges(spec: V1PodSpec, before: V1PodSpec): Readonly<Record<string, unknown>> {
  const withImagesOf = (kind: "containers" | "initContainers") =>
    (spec[kind] ?? []).map((one, index) => ({ ...one, image: before[kind]?.[index]?.image }));
  const grace = spec.terminationGracePeriodSeconds;
  const graceBefore = before.terminationGracePeriodSeconds;
  const isGraceRepaired = graceBefore !== undefined && graceBefore < 0 && grace === 1;
  return {
    ...spec,
    containers: withImagesOf("containers"),
    ...(isSet(spec.initContainers) ? { initContainers: withImagesOf("initContainers") } : {}),
    activeDeadlineSeconds: before.activeDeadlineSeconds,
    tolerations: before.tolerations,
    schedulingGates: before.schedulingGates,
    ...(isGraceRepaired ? { terminationGracePeriodSeconds: graceBefore } : {}),
  };
}

export function validatePodStatusUpdate(pod: Wire<V1Pod>, old: Wire<V1Pod>): FieldError[] {
  const { status = {} } = pod;
  const { status: before = {} } = old;
  const { restartPolicy = "" } = old.spec ?? NO_SPEC;
  const { nominatedNodeName: nominated = "" } = status;
  const errors = mirrorAnnotationErrors(pod, old);
  if (nominated !== "" && nominated !== before.nominatedNodeName) {
    const field = "status.nominatedNodeName";
    errors.push(...isDns1123Subdomain(nominated).map((one) => invalidValue(field, nominated, one)));
  }
  // A sidecar (v1.29) restarts, whatever the pod's restart policy is.
  const sidecars = new Set(sidecarsOf(old).map(({ name }) => name));
  for (const kind of ["containerStatuses", "initContainerStatuses"] as const) {
    const mayRunAgain = kind === "initContainerStatuses" ? sidecars : new Set<string>();
    errors.push(...transitionErrors(status[kind], before[kind], `status.${kind}`, restartPolicy, mayRunAgain));
  }
  return [...errors, ...podIpErrors(status)];
}

/** A finished container cannot restart. Mirrors ValidateContainerStateTransition and ValidateInitContainerStateTransition. */
function transitionErrors(
  statuses: V1PodStatus["containerStatuses"],
  before: V1PodStatus["containerStatuses"],
  path: string,
  restartPolicy: string,
  mayRunAgain: ReadonlySet<string>,
): FieldError[] {
  if (restartPolicy === "Always") return [];
  return (before ?? []).flatMap(({ name, state }, index) => {
    if (mayRunAgain.has(name)) return [];
    const terminated = state?.terminated;
    if (!terminated) return [];
    if (restartPolicy === "OnFailure" && terminated.exitCode !== 0) return [];
    const after = (statuses ?? []).filter((other) => other.name === name && !other.state?.terminated);
    return after.map(() => forbidden(`${path}[${index}].state`, "may not be transitioned to non-terminated state"));
  });
}

/** Mirrors validatePodIPs: at most one address of each family. */
function podIpErrors({ podIPs }: V1PodStatus): FieldError[] {
  const field = "status.podIPs";
  const ips = (podIPs ?? []).map(({ ip = "" }) => ip);
  const errors = ips.flatMap((ip, index) => isValidIp(ip).map((why) => invalidValue(`${field}[${index}]`, ip, why)));
  if (ips.length <= 1) return errors;
  const families = new Set(ips.map(isIP));
  if (families.size < 2 || ips.length > 2) {
    const list = ips.map((ip) => `core.PodIP{IP:${JSON.stringify(ip)}}`).join(", ");
    const detail = "may specify no more than one IP for each IP family";
    errors.push(invalidValue(field, goValue(`[]core.PodIP{${list}}`), detail));
  }
  ips.forEach((ip, index) => {
    if (ips.indexOf(ip) < index) errors.push(duplicate(`${field}[${index}]`, ip));
  });
  return errors;
}
