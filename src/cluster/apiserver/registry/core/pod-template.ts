import type { V1PodTemplateSpec } from "@kubernetes/client-node";
import { isAnnotationKey } from "../../../../staging/apimachinery/api/names.js";
import type { V1PodSpec } from "../../../../staging/apimachinery/api/pod.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { forbidden, invalidValue } from "../rest/field-errors.js";
import { validateLabels } from "../rest/validate-meta.js";
import { validatePodSpec } from "./pods/validation.js";

/**
 * Validates the pods that a workload creates from its template.
 *
 * Mirrors ValidatePodTemplateSpec in pkg/apis/core/validation/validation.go.
 * @param field `spec.template`
 */
export function validatePodTemplateSpec(template: Wire<V1PodTemplateSpec> | undefined, field: string): FieldError[] {
  const { metadata, spec } = template ?? {};
  const errors = [
    ...validateLabels(metadata?.labels, `${field}.labels`),
    ...Object.keys(metadata?.annotations ?? {}).flatMap((key) =>
      isAnnotationKey(key).map((one) => invalidValue(`${field}.annotations`, key, one)),
    ),
    ...validatePodSpec((spec ?? { containers: [] }) as V1PodSpec).map((error) => below(field, error)),
  ];
  if ((spec?.ephemeralContainers ?? []).length > 0) {
    errors.push(forbidden(`${field}.spec.ephemeralContainers`, "ephemeral containers not allowed in pod template"));
  }
  return errors;
}

/** `spec.containers[0].name` of a pod is `spec.template.spec.containers[0].name` of a workload. */
function below(field: string, error: FieldError): FieldError {
  return { ...error, field: `${field}.${error.field}` };
}
