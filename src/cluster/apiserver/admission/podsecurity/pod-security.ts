import type { V1Namespace, V1Pod } from "@kubernetes/client-node";
import { FROM_CACHE } from "../../../../staging/apimachinery/api/options.js";
import type { ContainerSpec } from "../../../../staging/apimachinery/api/pod.js";
import { invalid } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { admissionForbidden, admittedName } from "../../../../staging/server/admission/errors.js";
import type {
  AdmissionAttributes,
  AdmissionPlugin,
  AdmissionSubject,
} from "../../../../staging/server/admission/interfaces.js";
import type { Trace } from "../../../../trace/trace.js";
import { defined } from "../../../../util/defined.js";
import type { Registry } from "../../registry/rest/registry.js";
import { compareLevels, type LevelVersion, levelText, type NamespacePolicy, policyOf } from "./namespace-policy.js";
import { checkedPod, hasPodSpec } from "./pod-spec.js";

export interface PodSecurityDeps {
  readonly registry: Registry;
  readonly trace: Trace;
  readonly kubeVersion: string;
}

const IGNORED_POD_SUBRESOURCES = new Set("exec attach binding eviction log portforward proxy status".split(" "));

/**
 * Holds pods against the standard that the labels of their namespace name: refuses them, audits them, or warns. Templates of controllers
 * are only audited and warned about.
 *
 * Mirrors k8s.io/pod-security-admission/admission/admission.go and plugin/pkg/admission/security/podsecurity/admission.go, with the
 * default configuration: a namespace without labels is privileged, and there are no exemptions.
 */
export class PodSecurity implements AdmissionPlugin {
  readonly name = "PodSecurity";
  readonly handles = isChecked;

  constructor(readonly deps: PodSecurityDeps) {}

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { group, resource, namespace } = attributes;
    if (group === "" && resource === "namespaces") return this.#validateNamespace(attributes);
    const { metadata } = await this.deps.registry.store("namespaces").get(undefined, namespace, FROM_CACHE);
    const { policy } = policyOf(metadata.labels);
    const levels = resource === "pods" ? [policy.enforce, policy.audit, policy.warn] : [policy.audit, policy.warn];
    if (levels.every(({ level }) => level === "privileged")) return;
    if (resource === "pods" && attributes.operation === "UPDATE" && !isSignificantUpdate(attributes)) return;
    await this.#evaluate(attributes, policy);
  }

  /** Mirrors EvaluatePod. */
  async #evaluate(attributes: AdmissionAttributes, policy: NamespacePolicy): Promise<void> {
    const { group, resource, object } = attributes;
    const pod = object && checkedPod(qualified(group, resource), object);
    if (pod === undefined) return;
    // Most clusters have no namespace with a level, so the checks are loaded at their first use.
    const { evaluatePod, detailsOf } = await import("./policy/evaluate.js");
    const violations = (level: LevelVersion) => {
      const details = detailsOf(evaluatePod(level, this.deps.kubeVersion, pod));
      return details === "" ? undefined : `violate PodSecurity "${levelText(level)}": ${details}`;
    };
    const audited = violations(policy.audit);
    if (audited !== undefined) this.#audit(attributes, `would ${audited}`);
    const enforced = resource === "pods" ? violations(policy.enforce) : undefined;
    if (enforced !== undefined) throw admissionForbidden(attributes, enforced.replace("violate", "violates"));
    const warned = violations(policy.warn);
    if (warned !== undefined) attributes.warnings.push(`would ${warned}`);
  }

  #audit(attributes: AdmissionAttributes, annotation: string): void {
    const { auditId, namespace, resource } = attributes;
    const what = `audit ${resource} ${namespace}/${admittedName(attributes)}`;
    this.deps.trace.emit(
      { kind: "decision", what, why: `audit-violations: ${annotation}`, ...defined({ auditId }) },
      { actor: "apiserver" },
    );
  }

  /** Mirrors ValidateNamespace. */
  async #validateNamespace(attributes: AdmissionAttributes): Promise<void> {
    const { object, oldObject, kind, group, name, warnings } = attributes;
    const { policy, errors } = policyOf(labelsOf(object));
    const old = policyOf(labelsOf(oldObject));
    // A namespace with wrong labels, from before they were checked, can still be changed.
    const isNews = oldObject === undefined || JSON.stringify(errors) !== JSON.stringify(old.errors);
    if (errors.length > 0 && isNews) throw invalid({ group, kind }, admittedName(attributes), errors);
    if (oldObject === undefined || !isStricter(policy.enforce, old.policy.enforce)) return;
    const { warningsAbout } = await import("./existing-pods.js");
    const { items } = await this.deps.registry.store("pods").list(name);
    warnings.push(...warningsAbout(items, name, policy.enforce, this.deps.kubeVersion));
  }
}

function isChecked({ group, resource, subresource, operation }: AdmissionSubject): boolean {
  if (operation !== "CREATE" && operation !== "UPDATE") return false;
  if (group === "" && resource === "pods") return !IGNORED_POD_SUBRESOURCES.has(subresource);
  const isNamespace = group === "" && resource === "namespaces";
  return subresource === "" && (isNamespace || hasPodSpec(qualified(group, resource)));
}

function qualified(group: string, resource: string): string {
  return group === "" ? resource : `${resource}.${group}`;
}

function labelsOf(namespace: Wire<V1Namespace> | undefined): Readonly<Record<string, string>> {
  return namespace?.metadata.labels ?? {};
}

/** Reports whether pods that were admitted under the old level can violate the new one. */
function isStricter(now: LevelVersion, old: LevelVersion): boolean {
  if (now.level === "privileged") return false;
  return now.version !== old.version || compareLevels(now.level, old.level) > 0;
}

/** Labels, annotations and the like change nothing that is checked. Mirrors isSignificantPodUpdate. */
function isSignificantUpdate({ object, oldObject }: AdmissionAttributes): boolean {
  const now = (object as Wire<V1Pod> | undefined)?.spec;
  const old = (oldObject as Wire<V1Pod> | undefined)?.spec;
  if (now === undefined || old === undefined) return true;
  return (
    haveOtherImages(now.containers, old.containers) ||
    haveOtherImages(now.initContainers ?? [], old.initContainers ?? []) ||
    (now.ephemeralContainers ?? []).some(({ name, image }) => {
      const before = old.ephemeralContainers?.find((one) => one.name === name);
      return before?.image !== image;
    })
  );
}

function haveOtherImages(now: readonly ContainerSpec[], old: readonly ContainerSpec[]): boolean {
  return now.length !== old.length || now.some(({ image }, index) => image !== old[index]?.image);
}
