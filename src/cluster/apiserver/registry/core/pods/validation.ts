import type { V1Pod, V1Volume } from "@kubernetes/client-node";
import {
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isQualifiedName,
} from "../../../../../staging/apimachinery/api/names.js";
import type { V1PodSpec } from "../../../../../staging/apimachinery/api/pod.js";
import { MIRROR_POD_ANNOTATION } from "../../../../../staging/apimachinery/corev1/pod-references.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../../util/records.js";
import { addErrors, duplicate, forbidden, invalidValue, notSupported, required } from "../../rest/field-errors.js";
import { validateContainerRestartPolicies } from "./container-restart-policy.js";
import { validateContainers, validateInitContainers } from "./container-validation.js";
import { validateVolumeFiles } from "./downward-api-validation.js";
import { validateGatedNode, validateGates } from "./scheduling-gates.js";

/** Mirrors ValidatePodCreate and ValidatePodSpec in pkg/apis/core/validation/validation.go, in their order. */

const RESTART_POLICIES = ["Always", "OnFailure", "Never"];
const DNS_POLICIES = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const MAX_INT32 = 2 ** 31 - 1;

export function validatePodCreate(pod: Wire<V1Pod>): FieldError[] {
  const errors = validatePod(pod);
  if ((pod.spec?.ephemeralContainers ?? []).length > 0) {
    errors.push(forbidden("spec.ephemeralContainers", "cannot be set on create"));
  }
  return [...errors, ...validateGatedNode(pod.spec ?? {})];
}

/** The rules for both creation and update. The generic store checks metadata. */
export function validatePod(pod: Wire<V1Pod>): FieldError[] {
  return [...validateMirrorAnnotation(pod), ...validatePodSpec(pod.spec ?? { containers: [] })];
}

export function validateMirrorAnnotation(pod: Wire<V1Pod>): FieldError[] {
  const mirror = pod.metadata.annotations?.[MIRROR_POD_ANNOTATION];
  if (mirror === undefined || pod.spec?.nodeName) return [];
  const why = "must set spec.nodeName if mirror pod annotation is set";
  return [invalidValue(`metadata.annotations[${MIRROR_POD_ANNOTATION}]`, mirror, why)];
}

/** The paths of the errors begin with `spec`. */
export function validatePodSpec(spec: V1PodSpec): FieldError[] {
  const volumeNames = new Set((spec.volumes ?? []).map(({ name }) => name));
  const context = { volumeNames, hostNetwork: spec.hostNetwork ?? false };
  return [
    ...validateVolumes(spec.volumes),
    ...validateContainers(spec.containers, context),
    ...validateInitContainers(spec, context),
    ...oneOf("spec.restartPolicy", spec.restartPolicy, RESTART_POLICIES),
    ...oneOf("spec.dnsPolicy", spec.dnsPolicy, DNS_POLICIES),
    ...validateNodeSelector(spec.nodeSelector),
    ...validateImagePullSecrets(spec.imagePullSecrets),
    ...validateReadinessGates(spec.readinessGates),
    ...nameErrors("spec.serviceAccountName", spec.serviceAccountName, isDns1123Subdomain),
    ...nameErrors("spec.nodeName", spec.nodeName, isDns1123Subdomain),
    ...validateActiveDeadline(spec.activeDeadlineSeconds),
    ...nameErrors("spec.hostname", spec.hostname, isDns1123Label),
    ...nameErrors("spec.subdomain", spec.subdomain, isDns1123Label),
    ...validateTolerations(spec.tolerations),
    ...validateSysctls(spec.securityContext?.sysctls),
    ...nameErrors("spec.priorityClassName", spec.priorityClassName, isDns1123Subdomain),
    ...nameErrors("spec.runtimeClassName", spec.runtimeClassName, isDns1123Subdomain),
    ...validateGates(spec),
    ...validateContainerRestartPolicies(spec),
  ];
}

function oneOf(field: string, value: string | undefined, allowed: readonly string[]): FieldError[] {
  if (!value) return [required(field)];
  return allowed.includes(value) ? [] : [notSupported(field, value, allowed)];
}

function nameErrors(field: string, name: string | undefined, check: (name: string) => string[]): FieldError[] {
  return !name ? [] : check(name).map((one) => invalidValue(field, name, one));
}

function validateVolumes(volumes: V1PodSpec["volumes"]): FieldError[] {
  const names = new Set<string>();
  return (volumes ?? []).flatMap((volume, index) => {
    const field = `spec.volumes[${index}]`;
    const { name } = volume;
    const errors = validateVolumeSource(volume, field);
    if (name === "") errors.push(required(`${field}.name`));
    else {
      const messages = isDns1123Label(name);
      errors.push(...messages.map((message) => invalidValue(`${field}.name`, name, message)));
      if (messages.length === 0 && names.has(name)) errors.push(duplicate(`${field}.name`, name));
    }
    names.add(name);
    return errors;
  });
}

/** Required names in the volume sources that labs use; other volume types are not checked. */
const SOURCE_NAMES: Readonly<Record<string, string>> = {
  secret: "secretName",
  configMap: "name",
  hostPath: "path",
  persistentVolumeClaim: "claimName",
  csi: "driver",
};

function validateVolumeSource(volume: Wire<V1Volume>, path: string): FieldError[] {
  const { name: _name, ...sources } = volume;
  const errors: FieldError[] = [];
  let count = 0;
  for (const [kind, source] of Object.entries(sources)) {
    if (!isSet(source)) continue;
    if (++count > 1) {
      errors.push(forbidden(`${path}.${kind}`, "may not specify more than 1 volume type"));
      continue;
    }
    const nameField = SOURCE_NAMES[kind];
    if (nameField === undefined || (source as Readonly<Record<string, unknown>>)[nameField]) continue;
    errors.push(required(`${path}.${kind}.${nameField}`));
  }
  addErrors(errors, validateVolumeFiles(volume, path));
  return count === 0 ? [required(path, "must specify a volume type")] : errors;
}

function validateNodeSelector(selector: V1PodSpec["nodeSelector"]): FieldError[] {
  return Object.entries(selector ?? {}).flatMap(([key, value]) => [
    ...isQualifiedName(key).map((one) => invalidValue("spec.nodeSelector", key, one)),
    ...isLabelValue(value).map((one) => invalidValue("spec.nodeSelector", value, one)),
  ]);
}

function validateImagePullSecrets(secrets: V1PodSpec["imagePullSecrets"]): FieldError[] {
  return (secrets ?? []).flatMap(({ name }, index) =>
    !name ? [required(`spec.imagePullSecrets[${index}].name`)] : [],
  );
}

function validateReadinessGates(gates: V1PodSpec["readinessGates"]): FieldError[] {
  return (gates ?? []).flatMap(({ conditionType: type }, index) => {
    return isQualifiedName(type).map((message) =>
      invalidValue(`spec.readinessGates[${index}].conditionType`, type, message),
    );
  });
}

function validateActiveDeadline(seconds: number | undefined): FieldError[] {
  if (seconds === undefined || (seconds >= 1 && seconds <= MAX_INT32)) return [];
  return [invalidValue("spec.activeDeadlineSeconds", seconds, `must be between 1 and ${MAX_INT32}, inclusive`)];
}

const TOLERATION_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Mirrors ValidateTolerations. */
const SYSCTL = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const SYSCTL_REGEXP = new RegExp(SYSCTL);
const MAX_SYSCTL_LENGTH = 253;

function validateSysctls(sysctls: NonNullable<V1PodSpec["securityContext"]>["sysctls"]): FieldError[] {
  const names = new Set<string>();
  return (sysctls ?? []).flatMap(({ name }, index) => {
    const field = `spec.securityContext.sysctls[${index}].name`;
    if (name === "") return [required(field)];
    if (name.length > MAX_SYSCTL_LENGTH || !SYSCTL_REGEXP.test(name)) {
      return [invalidValue(field, name, `must have at most ${MAX_SYSCTL_LENGTH} characters and match regex ${SYSCTL}`)];
    }
    if (names.has(name)) return [duplicate(field, name)];
    names.add(name);
    return [];
  });
}

export function validateTolerations(tolerations: V1PodSpec["tolerations"]): FieldError[] {
  return (tolerations ?? []).flatMap(({ key, operator = "", value = "", effect = "", tolerationSeconds }, index) => {
    const field = `spec.tolerations[${index}]`;
    const errors: FieldError[] = [];
    if (key) errors.push(...isQualifiedName(key).map((message) => invalidValue(`${field}.key`, key, message)));
    else if (operator !== "Exists") {
      const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      errors.push(invalidValue(`${field}.operator`, operator, why));
    }
    if (isSet(tolerationSeconds) && effect !== "NoExecute") {
      errors.push(
        invalidValue(`${field}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"),
      );
    }
    if (operator === "" || operator === "Equal") {
      const messages = isLabelValue(value);
      if (messages.length > 0) errors.push(invalidValue(`${field}.operator`, value, messages.join(";")));
    } else if (operator === "Exists") {
      if (value) {
        const why = "value must be empty when `operator` is 'Exists'";
        errors.push(invalidValue(`${field}.operator`, "core.Toleration", why));
      }
    } else errors.push(notSupported(`${field}.operator`, operator, ["Equal", "Exists"]));
    if (effect && !TOLERATION_EFFECTS.includes(effect)) {
      errors.push(notSupported(`${field}.effect`, effect, TOLERATION_EFFECTS));
    }
    return errors;
  });
}
