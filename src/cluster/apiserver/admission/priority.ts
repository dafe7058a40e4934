import type { V1Pod, V1PriorityClass } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { FROM_CACHE } from "../../../staging/apimachinery/api/options.js";
import type { V1PodSpec } from "../../../staging/apimachinery/api/pod.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { admissionForbidden } from "../../../staging/server/admission/errors.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../../staging/server/admission/interfaces.js";
import type { Draft } from "../../../util/draft.js";
import { isSet } from "../../../util/records.js";
import type { Registry } from "../registry/rest/registry.js";
import { isPodWrite } from "./attributes.js";

const STORE = "priorityclasses.scheduling.k8s.io";

interface PodPriority {
  readonly className: string;
  readonly value: number;
  readonly preemptionPolicy: string | undefined;
}

const NO_CLASS: PodPriority = { className: "", value: 0, preemptionPolicy: "PreemptLowerPriority" };

/**
 * Computes a pod's priority from its priority class. A pod cannot choose the number itself.
 * Mirrors plugin/pkg/admission/priority/admission.go (Plugin.Admit).
 */
export class Priority implements AdmissionPlugin {
  readonly name = "Priority";
  readonly handles = isPodWrite;

  constructor(readonly registry: Registry) {}

  async admit(attributes: AdmissionAttributes): Promise<KubeObject | undefined> {
    const pod: Wire<V1Pod> | undefined = attributes.object;
    const oldPod: Wire<V1Pod> | undefined = attributes.oldObject;
    if (pod?.spec === undefined) return pod;
    if (attributes.operation === "UPDATE") return keepPriority(pod, pod.spec, oldPod?.spec);
    const { spec } = pod;
    const { className, value, preemptionPolicy } = await this.#priorityOf(attributes, spec.priorityClassName ?? "");
    const given = spec.priority;
    if (given !== undefined && given !== value) {
      throw admissionForbidden(attributes, mustNotProvide("integer value of priority", String(given), String(value)));
    }
    const policy = spec.preemptionPolicy ?? "";
    if (preemptionPolicy !== undefined && policy !== "" && policy !== preemptionPolicy) {
      throw admissionForbidden(
        attributes,
        mustNotProvide("string value of PreemptionPolicy", policy, preemptionPolicy),
      );
    }
    const prioritized: Draft<V1PodSpec> = { ...spec };
    if (className !== "") prioritized.priorityClassName = className;
    prioritized.priority = value;
    if (preemptionPolicy !== undefined) prioritized.preemptionPolicy = preemptionPolicy;
    const admitted: Draft<Wire<V1Pod>> = { ...pod };
    admitted.spec = prioritized;
    return admitted;
  }

  async #priorityOf(attributes: AdmissionAttributes, className: string): Promise<PodPriority> {
    if (className === "") return this.#defaultPriority();
    try {
      return priorityOf(
        (await this.registry.store(STORE).get(undefined, className, FROM_CACHE)) as Wire<V1PriorityClass>,
      );
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 404) throw error;
      throw admissionForbidden(attributes, `no PriorityClass with name ${className} was found`);
    }
  }

  /** Of several default classes, the one with the lowest value wins. */
  async #defaultPriority(): Promise<PodPriority> {
    const { items } = await this.registry.store(STORE).list(undefined);
    const classes = items as readonly Wire<V1PriorityClass>[];
    const defaults = classes.filter(({ globalDefault }) => globalDefault === true);
    const [lowest] = defaults.map(priorityOf).sort((a, b) => a.value - b.value);
    return lowest ?? NO_CLASS;
  }
}

function priorityOf({ metadata, value, preemptionPolicy }: Wire<V1PriorityClass>): PodPriority {
  return { className: metadata.name ?? "", value, preemptionPolicy: preemptionPolicy || undefined };
}

function mustNotProvide(what: string, given: string, computed: string): string {
  return `the ${what} (${given}) must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`;
}

/** A PUT without the computed fields keeps them. */
function keepPriority(pod: KubeObject, spec: V1PodSpec, before: V1PodSpec | undefined): KubeObject {
  const kept = (["priority", "preemptionPolicy"] as const).filter(
    (field) => !isSet(spec[field]) && isSet(before?.[field]),
  );
  if (kept.length === 0) return pod;
  return { ...pod, spec: { ...spec, ...Object.fromEntries(kept.map((field) => [field, before?.[field]])) } };
}
