import type { V1Pod, V1RuntimeClass } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { FROM_CACHE } from "../../../staging/apimachinery/api/options.js";
import type { V1PodSpec } from "../../../staging/apimachinery/api/pod.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { admissionForbidden } from "../../../staging/server/admission/errors.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../../staging/server/admission/interfaces.js";
import type { Registry } from "../registry/rest/registry.js";
import { isNewPod } from "./attributes.js";

/**
 * Gives a pod the overhead of its runtime class, and the class's node selector and tolerations.
 * Mirrors plugin/pkg/admission/runtimeclass/admission.go (RuntimeClass.Admit, Validate).
 */
export class RuntimeClass implements AdmissionPlugin {
  readonly name = "RuntimeClass";
  readonly handles = isNewPod;

  constructor(readonly registry: Registry) {}

  admit(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject> {
    const pod: Wire<V1Pod> | undefined = attributes.object;
    const { runtimeClassName: className = "" } = pod?.spec ?? {};
    return pod?.spec === undefined || className === "" ? pod : this.#admitOfClass(className, pod, pod.spec, attributes);
  }

  async #admitOfClass(
    className: string,
    pod: KubeObject,
    spec: V1PodSpec,
    attributes: AdmissionAttributes,
  ): Promise<KubeObject> {
    const runtimeClass = await this.#find(attributes, className);
    return { ...pod, spec: withScheduling(attributes, withOverhead(attributes, spec, runtimeClass), runtimeClass) };
  }

  async #find(attributes: AdmissionAttributes, name: string): Promise<Wire<V1RuntimeClass>> {
    try {
      const found = await this.registry.store("runtimeclasses.node.k8s.io").get(undefined, name, FROM_CACHE);
      return found as Wire<V1RuntimeClass>;
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 404) throw error;
      throw admissionForbidden(attributes, `pod rejected: RuntimeClass "${name}" not found`);
    }
  }
}

type WithClass = (attributes: AdmissionAttributes, spec: V1PodSpec, runtimeClass: Wire<V1RuntimeClass>) => V1PodSpec;

const withOverhead: WithClass = (attributes, spec, { overhead }) => {
  const podFixed = overhead?.podFixed;
  if (podFixed === undefined) return spec;
  if (spec.overhead !== undefined && !semanticallyEqual(spec.overhead, podFixed)) {
    const why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
    throw admissionForbidden(attributes, why);
  }
  return { ...spec, overhead: podFixed };
};

const withScheduling: WithClass = (attributes, spec, { scheduling }) => {
  const { nodeSelector, tolerations = [] } = scheduling ?? {};
  const own = spec.nodeSelector ?? {};
  for (const [key, value] of Object.entries(nodeSelector ?? {})) {
    if (own[key] === undefined || own[key] === value) continue;
    const why = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own[key]}`;
    throw admissionForbidden(attributes, why);
  }
  const before = spec.tolerations ?? [];
  const added = tolerations.filter((one) => !before.some((old) => semanticallyEqual(old, one)));
  return {
    ...spec,
    ...(nodeSelector === undefined ? {} : { nodeSelector: { ...own, ...nodeSelector } }),
    ...(added.length > 0 ? { tolerations: [...before, ...added] } : {}),
  };
};
