import { isIP } from "node:net";
import type { KubeObject } from "../../../../apimachinery/api/meta.js";
import { isDns1123Subdomain } from "../../../../apimachinery/api/names.js";
import type { FieldError } from "../../../../apimachinery/errors.js";
import { isSet } from "../../../../util/records.js";
import { type Fields, fields, items, number, semanticallyEqual, text } from "../access.js";
import { duplicate, forbidden, goValue, invalidValue } from "../field-errors.js";
import { validateImage } from "./container-validation.js";
import { validateGateRemoval } from "./scheduling-gates.js";
import { podSpecDiff } from "./spec-diff.js";
import { MIRROR_POD_ANNOTATION, validateMirrorAnnotation, validatePod, validateTolerations } from "./validation.js";

/** Mirrors ValidatePodUpdate and ValidatePodStatusUpdate in pkg/apis/core/validation/validation.go. */

const MAY_CHANGE =
  "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const MAX_INT32 = 2 ** 31 - 1;
const DEADLINE = "spec.activeDeadlineSeconds";

export function validatePodUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  const spec = fields(pod.spec);
  const before = fields(old.spec);
  const errors = [...validatePod(pod), ...mirrorAnnotationErrors(pod, old)];
  for (const kind of ["containers", "initContainers"]) {
    if (items(spec[kind]).length !== items(before[kind]).length) {
      return [...errors, forbidden(`spec.${kind}`, "pod updates may not add or remove containers")];
    }
    errors.push(...items(spec[kind]).flatMap((one, index) => validateImage(fields(one), `spec.${kind}[${index}]`)));
  }
  const deadline = deadlineError(number(spec.activeDeadlineSeconds), number(before.activeDeadlineSeconds));
  if (deadline !== undefined) return [...errors, deadline];
  errors.push(...tolerationErrors(spec, before), ...validateGateRemoval(spec, before));
  const munged = withAllowedChanges(spec, before);
  if (!semanticallyEqual(munged, before)) {
    errors.push(forbidden("spec", `${MAY_CHANGE}\n${podSpecDiff(before, munged)}`));
  }
  return errors;
}

/** The mirror pod annotation cannot be added or removed. Mirrors ValidatePodSpecificAnnotationUpdates. */
function mirrorAnnotationErrors(pod: KubeObject, old: KubeObject): FieldError[] {
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
function tolerationErrors(spec: Fields, before: Fields): FieldError[] {
  const now = items(spec.tolerations).map((one) => withoutSeconds(fields(one)));
  const isKept = items(before.tolerations).every((one) =>
    now.some((other) => semanticallyEqual(other, withoutSeconds(fields(one)))),
  );
  if (isKept) return validateTolerations(spec.tolerations);
  return [forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
}

function withoutSeconds({ tolerationSeconds: _seconds, ...rest }: Fields): Fields {
  return rest;
}

/** The new spec with the allowed changes undone: any remaining difference is forbidden. */
function withAllowedChanges(spec: Fields, before: Fields): Fields {
  const withImagesOf = (kind: string): unknown[] =>
    items(spec[kind]).map((one, index) => ({ ...fields(one), image: fields(items(before[kind])[index]).image }));
  const grace = number(spec.terminationGracePeriodSeconds);
  const graceBefore = number(before.terminationGracePeriodSeconds);
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

export function validatePodStatusUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  const status = fields(pod.status);
  const before = fields(old.status);
  const restartPolicy = text(fields(old.spec).restartPolicy);
  const nominated = text(status.nominatedNodeName);
  const errors = mirrorAnnotationErrors(pod, old);
  if (nominated !== "" && nominated !== text(before.nominatedNodeName)) {
    const field = "status.nominatedNodeName";
    errors.push(...isDns1123Subdomain(nominated).map((one) => invalidValue(field, nominated, one)));
  }
  // A sidecar (v1.29) restarts, whatever the pod's restart policy is.
  const inits = items(fields(old.spec).initContainers).map(fields);
  const sidecars = new Set(inits.filter((one) => one.restartPolicy === "Always").map(({ name }) => name));
  for (const kind of ["containerStatuses", "initContainerStatuses"]) {
    const mayRunAgain = kind === "initContainerStatuses" ? sidecars : new Set<unknown>();
    errors.push(...transitionErrors(status[kind], before[kind], `status.${kind}`, restartPolicy, mayRunAgain));
  }
  return [...errors, ...podIpErrors(status)];
}

/** A finished container cannot restart. Mirrors ValidateContainerStateTransition and ValidateInitContainerStateTransition. */
function transitionErrors(
  statuses: unknown,
  before: unknown,
  path: string,
  restartPolicy: string,
  mayRunAgain: ReadonlySet<unknown>,
): FieldError[] {
  if (restartPolicy === "Always") return [];
  return items(before).flatMap((one, index) => {
    if (mayRunAgain.has(fields(one).name)) return [];
    const { terminated } = fields(fields(one).state);
    if (!isSet(terminated)) return [];
    if (restartPolicy === "OnFailure" && number(fields(terminated).exitCode) !== 0) return [];
    const after = items(statuses)
      .map(fields)
      .filter((other) => other.name === fields(one).name && !isSet(fields(other.state).terminated));
    return after.map(() => forbidden(`${path}[${index}].state`, "may not be transitioned to non-terminated state"));
  });
}

/** Mirrors validatePodIPs: at most one address of each family. */
function podIpErrors(status: Fields): FieldError[] {
  const field = "status.podIPs";
  const ips = items(status.podIPs).map((one) => text(fields(one).ip));
  const why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
  const errors = ips.flatMap((ip, index) => (isIP(ip) === 0 ? [invalidValue(`${field}[${index}]`, ip, why)] : []));
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
