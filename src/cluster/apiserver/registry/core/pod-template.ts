import type { V1PodTemplateSpec } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { isAnnotationKey, isDns1123Label } from "../../../../staging/apimachinery/api/names.js";
import type { V1PodSpec } from "../../../../staging/apimachinery/api/pod.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isAtLeast } from "../../../../util/release/facts.js";
import type { Strategy } from "../rest/definition.js";
import { forbidden, invalidValue } from "../rest/field-errors.js";
import { validateLabels } from "../rest/validate-meta.js";
import { validatePodSpec } from "./pods/validation.js";
import { warningsForPod } from "./pods/warnings.js";

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

type Template = Wire<V1PodTemplateSpec> | undefined;

/**
 * The warnings about a workload's name and template; of an update only if it changes the spec.
 *
 * Mirrors GetWarningsForPodTemplate and its callers in pkg/registry/apps and pkg/registry/batch.
 * @param field `spec.template`
 * @param options.isNameInPods the names of its pods begin with its name, and they need not be DNS labels
 */
export function templateWarnings(
  field: string,
  templateOf: (object: KubeObject) => Template,
  { isNameInPods }: { readonly isNameInPods: boolean },
): Required<Pick<Strategy, "warningsOnCreate" | "warningsOnUpdate">> {
  const ofTemplate = (object: KubeObject, kubeVersion: string) => {
    const template = templateOf(object);
    return template === undefined ? [] : warningsForPod(template, field, kubeVersion);
  };
  return {
    warningsOnCreate: (object, { kubeVersion }) => [
      ...(isNameInPods ? nameWarnings(object, "Pod names and hostnames", kubeVersion) : []),
      ...ofTemplate(object, kubeVersion),
    ],
    warningsOnUpdate: (object, old, { kubeVersion }) =>
      object.metadata.generation === old.metadata.generation ? [] : ofTemplate(object, kubeVersion),
  };
}

/** @param use `the Pod's hostname` */
export function nameWarnings({ metadata }: KubeObject, use: string, kubeVersion: string): string[] {
  if (!isAtLeast(kubeVersion, "1.27")) return [];
  const messages = isDns1123Label(metadata.name ?? "");
  if (messages.length === 0) return [];
  const why = `this is used in ${use}, which can result in surprising behavior; a DNS label is recommended`;
  return [`metadata.name: ${why}: [${messages.join(" ")}]`];
}
