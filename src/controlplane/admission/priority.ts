import type { KubeObject } from "../../apimachinery/api/meta.js";
import { StatusError } from "../../apimachinery/errors.js";
import type { Draft } from "../../util/draft.js";
import { isSet } from "../../util/records.js";
import { admissionForbidden } from "../auth/admission/refuse.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../auth/contracts.js";
import type { Registry } from "../registry/registry.js";
import { type Fields, fields, number, text } from "../registry/resources/access.js";
import { isPodWrite } from "./attributes.js";

const STORE = "priorityclasses.scheduling.k8s.io";

interface PodPriority {
  readonly className: string;
  readonly value: number;
  readonly preemptionPolicy: string | undefined;
}

const NO_CLASS: PodPriority = { className: "", value: 0, preemptionPolicy: "PreemptLowerPriority" };

/**
 * Turns a pod's priority class into a number; nobody chooses the number himself.
 * Mirrors plugin/pkg/admission/priority/admission.go (Plugin.Admit).
 */
export class Priority implements AdmissionPlugin {
  readonly name = "Priority";
  readonly handles = isPodWrite;

  constructor(readonly registry: Registry) {}

  async admit(attributes: AdmissionAttributes): Promise<KubeObject | undefined> {
    const { object: pod, oldObject } = attributes;
    if (pod === undefined) return pod;
    if (attributes.operation === "UPDATE") return keepPriority(pod, fields(oldObject?.spec));
    const spec = fields(pod.spec);
    const { className, value, preemptionPolicy } = await this.#priorityOf(attributes, text(spec.priorityClassName));
    const given = number(spec.priority);
    if (given !== undefined && given !== value) {
      throw admissionForbidden(attributes, mustNotProvide("integer value of priority", String(given), String(value)));
    }
    const policy = text(spec.preemptionPolicy);
    if (preemptionPolicy !== undefined && policy !== "" && policy !== preemptionPolicy) {
      throw admissionForbidden(
        attributes,
        mustNotProvide("string value of PreemptionPolicy", policy, preemptionPolicy),
      );
    }
    const prioritized: Draft<Fields> = { ...spec };
    if (className !== "") prioritized.priorityClassName = className;
    prioritized.priority = value;
    if (preemptionPolicy !== undefined) prioritized.preemptionPolicy = preemptionPolicy;
    const admitted: Draft<KubeObject> = { ...pod };
    admitted.spec = prioritized;
    return admitted;
  }

  async #priorityOf(attributes: AdmissionAttributes, className: string): Promise<PodPriority> {
    if (className === "") return this.#defaultPriority();
    try {
      return priorityOf(await this.registry.store(STORE).get(undefined, className));
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 404) throw error;
      throw admissionForbidden(attributes, `no PriorityClass with name ${className} was found`);
    }
  }

  /** Of several default classes, the one with the lowest value: whoever else was first keeps his place. */
  async #defaultPriority(): Promise<PodPriority> {
    const { items } = await this.registry.store(STORE).list(undefined);
    const defaults = items.filter((one) => one.globalDefault === true);
    if (defaults.length === 0) return NO_CLASS;
    const [lowest] = defaults.map(priorityOf).sort((a, b) => a.value - b.value);
    return lowest ?? NO_CLASS;
  }
}

function priorityOf(priorityClass: KubeObject): PodPriority {
  const policy = text(priorityClass.preemptionPolicy);
  return {
    className: priorityClass.metadata.name ?? "",
    value: number(priorityClass.value) ?? 0,
    preemptionPolicy: policy === "" ? undefined : policy,
  };
}

function mustNotProvide(what: string, given: string, computed: string): string {
  return `the ${what} (${given}) must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`;
}

/** A PUT without the computed fields keeps them. */
function keepPriority(pod: KubeObject, before: Fields): KubeObject {
  const spec = fields(pod.spec);
  const kept = ["priority", "preemptionPolicy"].filter((field) => !isSet(spec[field]) && isSet(before[field]));
  if (kept.length === 0) return pod;
  return { ...pod, spec: { ...spec, ...Object.fromEntries(kept.map((field) => [field, before[field]])) } };
}
