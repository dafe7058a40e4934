import type { KubeObject } from "../../../../apimachinery/api/meta.js";
import {
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isQualifiedName,
} from "../../../../apimachinery/api/names.js";
import type { FieldError } from "../../../../apimachinery/errors.js";
import { isSet } from "../../../../util/records.js";
import { bool, type Fields, fields, items, number, text } from "../access.js";
import { duplicate, forbidden, invalidValue, notSupported, required } from "../field-errors.js";
import { validateContainerRestartPolicies } from "./container-restart-policy.js";
import { validateContainers, validateInitContainers } from "./container-validation.js";
import { validateGatedNode, validateGates } from "./scheduling-gates.js";

/** Mirrors ValidatePodCreate and ValidatePodSpec in pkg/apis/core/validation/validation.go, in their order. */

export const MIRROR_POD_ANNOTATION = "kubernetes.io/config.mirror";

const RESTART_POLICIES = ["Always", "OnFailure", "Never"];
const DNS_POLICIES = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const MAX_INT32 = 2 ** 31 - 1;

export function validatePodCreate(pod: KubeObject): FieldError[] {
  const errors = validatePod(pod);
  if (items(fields(pod.spec).ephemeralContainers).length > 0) {
    errors.push(forbidden("spec.ephemeralContainers", "cannot be set on create"));
  }
  return [...errors, ...validateGatedNode(fields(pod.spec))];
}

/** The rules for both creation and update. The generic store checks metadata. */
export function validatePod(pod: KubeObject): FieldError[] {
  return [...validateMirrorAnnotation(pod), ...validatePodSpec(fields(pod.spec))];
}

export function validateMirrorAnnotation(pod: KubeObject): FieldError[] {
  const mirror = pod.metadata.annotations?.[MIRROR_POD_ANNOTATION];
  if (mirror === undefined || text(fields(pod.spec).nodeName) !== "") return [];
  const why = "must set spec.nodeName if mirror pod annotation is set";
  return [invalidValue(`metadata.annotations[${MIRROR_POD_ANNOTATION}]`, mirror, why)];
}

function validatePodSpec(spec: Fields): FieldError[] {
  const volumeNames = new Set(items(spec.volumes).map((one) => text(fields(one).name)));
  const context = { volumeNames, hostNetwork: bool(spec.hostNetwork) ?? false };
  return [
    ...validateVolumes(spec.volumes),
    ...validateContainers(spec.containers, context),
    ...validateInitContainers(spec, context),
    ...oneOf("spec.restartPolicy", text(spec.restartPolicy), RESTART_POLICIES),
    ...oneOf("spec.dnsPolicy", text(spec.dnsPolicy), DNS_POLICIES),
    ...validateNodeSelector(spec.nodeSelector),
    ...validateImagePullSecrets(spec.imagePullSecrets),
    ...validateReadinessGates(spec.readinessGates),
    ...nameErrors("spec.serviceAccountName", spec.serviceAccountName, isDns1123Subdomain),
    ...nameErrors("spec.nodeName", spec.nodeName, isDns1123Subdomain),
    ...validateActiveDeadline(spec.activeDeadlineSeconds),
    ...nameErrors("spec.hostname", spec.hostname, isDns1123Label),
    ...nameErrors("spec.subdomain", spec.subdomain, isDns1123Label),
    ...validateTolerations(spec.tolerations),
    ...nameErrors("spec.priorityClassName", spec.priorityClassName, isDns1123Subdomain),
    ...nameErrors("spec.runtimeClassName", spec.runtimeClassName, isDns1123Subdomain),
    ...validateGates(spec),
    ...validateContainerRestartPolicies(spec),
  ];
}

function oneOf(field: string, value: string, allowed: readonly string[]): FieldError[] {
  if (value === "") return [required(field)];
  return allowed.includes(value) ? [] : [notSupported(field, value, allowed)];
}

function nameErrors(field: string, value: unknown, check: (name: string) => string[]): FieldError[] {
  const name = text(value);
  return name === "" ? [] : check(name).map((one) => invalidValue(field, name, one));
}

function validateVolumes(volumes: unknown): FieldError[] {
  const names = new Set<string>();
  return items(volumes).flatMap((one, index) => {
    const volume = fields(one);
    const field = `spec.volumes[${index}]`;
    const name = text(volume.name);
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

function validateVolumeSource(volume: Fields, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let count = 0;
  for (const kind in volume) {
    if (kind === "name" || !isSet(volume[kind])) continue;
    if (++count > 1) {
      errors.push(forbidden(`${path}.${kind}`, "may not specify more than 1 volume type"));
      continue;
    }
    const nameField = SOURCE_NAMES[kind];
    if (nameField === undefined || text(fields(volume[kind])[nameField]) !== "") continue;
    errors.push(required(`${path}.${kind}.${nameField}`));
  }
  return count === 0 ? [required(path, "must specify a volume type")] : errors;
}

function validateNodeSelector(selector: unknown): FieldError[] {
  return Object.entries(fields(selector)).flatMap(([key, value]) => [
    ...isQualifiedName(key).map((one) => invalidValue("spec.nodeSelector", key, one)),
    ...isLabelValue(text(value)).map((one) => invalidValue("spec.nodeSelector", text(value), one)),
  ]);
}

function validateImagePullSecrets(secrets: unknown): FieldError[] {
  return items(secrets).flatMap((one, index) =>
    text(fields(one).name) === "" ? [required(`spec.imagePullSecrets[${index}].name`)] : [],
  );
}

function validateReadinessGates(gates: unknown): FieldError[] {
  return items(gates).flatMap((one, index) => {
    const type = text(fields(one).conditionType);
    return isQualifiedName(type).map((message) =>
      invalidValue(`spec.readinessGates[${index}].conditionType`, type, message),
    );
  });
}

function validateActiveDeadline(value: unknown): FieldError[] {
  const seconds = number(value);
  if (seconds === undefined || (seconds >= 1 && seconds <= MAX_INT32)) return [];
  return [invalidValue("spec.activeDeadlineSeconds", seconds, `must be between 1 and ${MAX_INT32}, inclusive`)];
}

const TOLERATION_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Mirrors ValidateTolerations. */
export function validateTolerations(tolerations: unknown): FieldError[] {
  return items(tolerations).flatMap((one, index) => {
    const toleration = fields(one);
    const field = `spec.tolerations[${index}]`;
    const key = text(toleration.key);
    const operator = text(toleration.operator);
    const value = text(toleration.value);
    const effect = text(toleration.effect);
    const errors: FieldError[] = [];
    if (key) errors.push(...isQualifiedName(key).map((message) => invalidValue(`${field}.key`, key, message)));
    else if (operator !== "Exists") {
      const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      errors.push(invalidValue(`${field}.operator`, operator, why));
    }
    if (isSet(toleration.tolerationSeconds) && effect !== "NoExecute") {
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
