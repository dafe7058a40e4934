import type { V1Pod } from "@kubernetes/client-node";
import { isMirrorPod } from "../../../../../staging/apimachinery/corev1/pod-references.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../../util/records.js";
import type { Strategy } from "../../rest/definition.js";
import { duplicate, forbidden, notFound, required } from "../../rest/field-errors.js";
import { validateContainer } from "./container-validation.js";

/** Fields that a debugging container cannot have: the pod's life does not depend on it, and it has no resources. */
const NOT_ALLOWED = ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"] as const;

/** Mirrors validateEphemeralContainers in pkg/apis/core/validation/validation.go. */
function validateEphemeralContainers({ spec }: Wire<V1Pod>): FieldError[] {
  const others = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].map(({ name }) => name);
  const names = new Set(others);
  const volumeNames = new Set((spec?.volumes ?? []).map(({ name }) => name));
  return (spec?.ephemeralContainers ?? []).flatMap((container, index) => {
    const { name, targetContainerName: target = "" } = container;
    const path = `spec.ephemeralContainers[${index}]`;
    const errors = validateContainer(container, path, { volumeNames, hostNetwork: false });
    if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
    names.add(name);
    if (target !== "" && !others.includes(target)) errors.push(notFound(`${path}.targetContainerName`, target));
    for (const field of NOT_ALLOWED) {
      if (isSet(container[field]))
        errors.push(forbidden(`${path}.${field}`, "cannot be set for an Ephemeral Container"));
    }
    return errors;
  });
}

/** Ephemeral containers can be added, but never changed or removed. Mirrors ValidatePodEphemeralContainersUpdate. */
function validateUpdate(pod: Wire<V1Pod>, old: Wire<V1Pod>): FieldError[] {
  const field = "spec.ephemeralContainers";
  const errors = validateEphemeralContainers(pod);
  if (isMirrorPod(old)) {
    errors.push(forbidden("", "static pods do not support ephemeral containers"));
  }
  const now = pod.spec?.ephemeralContainers ?? [];
  old.spec?.ephemeralContainers?.forEach((before, index) => {
    const after = now.find((other) => other.name === before.name);
    const where = `${field}[${index}]`;
    if (after === undefined) {
      errors.push(forbidden(where, `existing ephemeral containers ${JSON.stringify(before.name)} may not be removed`));
    } else if (!semanticallyEqual(after, before)) {
      errors.push(forbidden(where, `existing ephemeral containers ${JSON.stringify(before.name)} may not be changed`));
    }
  });
  for (const [index, one] of now.entries()) if (!one.name) errors.push(required(`${field}[${index}].name`));
  return errors;
}

/** Only the pod's ephemeral containers change here. Mirrors podEphemeralContainersStrategy. */
export const EPHEMERAL_CONTAINERS_STRATEGY: Pick<Strategy, "prepareForUpdate" | "validateUpdate"> = {
  prepareForUpdate(pod: Wire<V1Pod>, old: Wire<V1Pod>) {
    const { ephemeralContainers } = pod.spec ?? {};
    const resourceVersion = pod.metadata.resourceVersion;
    return {
      ...old,
      metadata: { ...old.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
      spec: { ...old.spec, ...(isSet(ephemeralContainers) ? { ephemeralContainers } : {}) },
    };
  },
  validateUpdate,
};
