import type { KubeObject } from "../../apimachinery/api/meta.js";
import { StatusError } from "../../apimachinery/errors.js";
import { isSet } from "../../util/records.js";
import { admissionForbidden } from "../auth/admission/refuse.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../auth/contracts.js";
import type { Registry } from "../registry/registry.js";
import { type Fields, fields, items, semanticallyEqual, text } from "../registry/resources/access.js";
import { isNewPod } from "./attributes.js";

/**
 * A pod of a runtime class carries the class's overhead, and goes where the class's runtime is.
 * Mirrors plugin/pkg/admission/runtimeclass/admission.go (RuntimeClass.Admit, Validate).
 */
export class RuntimeClass implements AdmissionPlugin {
  readonly name = "RuntimeClass";
  readonly handles = isNewPod;

  constructor(readonly registry: Registry) {}

  admit(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject> {
    const { object: pod } = attributes;
    const className = text(fields(pod?.spec).runtimeClassName);
    return pod === undefined || className === "" ? pod : this.#admitOfClass(className, pod, attributes);
  }

  async #admitOfClass(className: string, pod: KubeObject, attributes: AdmissionAttributes): Promise<KubeObject> {
    const runtimeClass = await this.#find(attributes, className);
    return {
      ...pod,
      spec: withScheduling(attributes, withOverhead(attributes, fields(pod.spec), runtimeClass), runtimeClass),
    };
  }

  async #find(attributes: AdmissionAttributes, name: string): Promise<KubeObject> {
    try {
      return await this.registry.store("runtimeclasses.node.k8s.io").get(undefined, name);
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 404) throw error;
      throw admissionForbidden(attributes, `pod rejected: RuntimeClass "${name}" not found`);
    }
  }
}

function withOverhead(attributes: AdmissionAttributes, spec: Fields, runtimeClass: KubeObject): Fields {
  const { podFixed } = fields(runtimeClass.overhead);
  if (!isSet(podFixed)) return spec;
  if (isSet(spec.overhead) && !semanticallyEqual(spec.overhead, podFixed)) {
    const why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
    throw admissionForbidden(attributes, why);
  }
  return { ...spec, overhead: podFixed };
}

function withScheduling(attributes: AdmissionAttributes, spec: Fields, runtimeClass: KubeObject): Fields {
  const { nodeSelector, tolerations } = fields(runtimeClass.scheduling);
  const own = fields(spec.nodeSelector);
  for (const [key, value] of Object.entries(fields(nodeSelector))) {
    if (own[key] === undefined || own[key] === value) continue;
    const why = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${String(value)}; pod.spec.nodeSelector[${key}] = ${String(own[key])}`;
    throw admissionForbidden(attributes, why);
  }
  const added = items(tolerations).filter((one) => !items(spec.tolerations).some((old) => semanticallyEqual(old, one)));
  return {
    ...spec,
    ...(isSet(nodeSelector) ? { nodeSelector: { ...own, ...fields(nodeSelector) } } : {}),
    ...(added.length > 0 ? { tolerations: [...items(spec.tolerations), ...added] } : {}),
  };
}
