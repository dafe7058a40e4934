import type { KubeObject } from "../../../../apimachinery/api/meta.js";
import type { FieldError } from "../../../../apimachinery/errors.js";
import { isSet } from "../../../../util/records.js";
import type { Strategy } from "../../definition.js";
import { fields, items, semanticallyEqual, text } from "../access.js";
import { duplicate, forbidden, notFound, required } from "../field-errors.js";
import { validateContainer } from "./container-validation.js";
import { MIRROR_POD_ANNOTATION } from "./validation.js";

/** Fields that a debugging container cannot have: the pod's life does not depend on it, and it has no resources. */
const NOT_ALLOWED = ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"];

/** Mirrors validateEphemeralContainers in pkg/apis/core/validation/validation.go. */
function validateEphemeralContainers(pod: KubeObject): FieldError[] {
  const spec = fields(pod.spec);
  const others = [...items(spec.containers), ...items(spec.initContainers)].map((one) => text(fields(one).name));
  const names = new Set(others);
  const volumeNames = new Set(items(spec.volumes).map((one) => text(fields(one).name)));
  return items(spec.ephemeralContainers).flatMap((one, index) => {
    const container = fields(one);
    const path = `spec.ephemeralContainers[${index}]`;
    const name = text(container.name);
    const target = text(container.targetContainerName);
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
function validateUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  const field = "spec.ephemeralContainers";
  const errors = validateEphemeralContainers(pod);
  if (old.metadata.annotations?.[MIRROR_POD_ANNOTATION] !== undefined) {
    errors.push(forbidden("", "static pods do not support ephemeral containers"));
  }
  const now = items(fields(pod.spec).ephemeralContainers).map(fields);
  items(fields(old.spec).ephemeralContainers).forEach((one, index) => {
    const before = fields(one);
    const after = now.find((other) => other.name === before.name);
    const where = `${field}[${index}]`;
    if (after === undefined) {
      errors.push(forbidden(where, `existing ephemeral containers ${JSON.stringify(before.name)} may not be removed`));
    } else if (!semanticallyEqual(after, before)) {
      errors.push(forbidden(where, `existing ephemeral containers ${JSON.stringify(before.name)} may not be changed`));
    }
  });
  for (const [index, one] of now.entries()) if (text(one.name) === "") errors.push(required(`${field}[${index}].name`));
  return errors;
}

/** Only the pod's ephemeral containers change here. Mirrors podEphemeralContainersStrategy. */
export const EPHEMERAL_CONTAINERS_STRATEGY: Pick<Strategy, "prepareForUpdate" | "validateUpdate"> = {
  prepareForUpdate(pod, old) {
    const { ephemeralContainers } = fields(pod.spec);
    const resourceVersion = pod.metadata.resourceVersion;
    return {
      ...old,
      metadata: { ...old.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
      spec: { ...fields(old.spec), ...(isSet(ephemeralContainers) ? { ephemeralContainers } : {}) },
    };
  },
  validateUpdate,
};
