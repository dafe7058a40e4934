import type { V1LimitRange, V1PersistentVolumeClaim, V1Pod } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { admissionForbidden } from "../../../../staging/server/admission/errors.js";
import type {
  AdmissionAttributes,
  AdmissionPlugin,
  AdmissionSubject,
} from "../../../../staging/server/admission/interfaces.js";
import type { Registry } from "../../registry/rest/registry.js";
import { isNewPod } from "../attributes.js";
import { claimProblems, podProblems } from "./constraints.js";
import { withDefaults } from "./defaults.js";

type LimitRange = Wire<V1LimitRange>;

/**
 * Gives containers the default requests and limits of their namespace, and refuses pods and claims that request less or more than its
 * limit ranges allow.
 *
 * Mirrors plugin/pkg/admission/limitranger/admission.go (LimitRanger.Admit, Validate).
 * Differs: reads the store instead of a cache that can lag behind; several problems are listed in order.
 */
export class LimitRanger implements AdmissionPlugin {
  readonly name = "LimitRanger";
  readonly handles = isLimited;

  constructor(readonly registry: Registry) {}

  admit(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined> {
    const { resource, object } = attributes;
    return resource === "pods" && object !== undefined ? this.#withDefaults(attributes, object) : object;
  }

  async #withDefaults({ namespace }: AdmissionAttributes, pod: Wire<V1Pod>): Promise<KubeObject> {
    return (await this.#limitRanges(namespace)).reduce(withDefaults, pod);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { namespace, object, oldObject } = attributes;
    // Finalizers of claims that are being deleted must still be removable.
    if (object === undefined || oldObject?.metadata.deletionTimestamp !== undefined) return;
    for (const limitRange of await this.#limitRanges(namespace)) {
      const problems = problemsOf(limitRange, attributes, object);
      if (problems.length > 0) throw admissionForbidden(attributes, aggregate(problems));
    }
  }

  async #limitRanges(namespace: string): Promise<readonly LimitRange[]> {
    return (await this.registry.store("limitranges").list(namespace)).items as readonly LimitRange[];
  }
}

/** Containers of a pod cannot change later. Mirrors SupportsAttributes. */
function isLimited(write: AdmissionSubject): boolean {
  const { group, resource, subresource, operation } = write;
  const isClaim = group === "" && resource === "persistentvolumeclaims" && subresource === "";
  return isNewPod(write) || (isClaim && (operation === "CREATE" || operation === "UPDATE"));
}

/** Mirrors ValidateLimit. */
function problemsOf({ spec }: LimitRange, { resource }: AdmissionAttributes, object: KubeObject): readonly string[] {
  const limits = spec?.limits ?? [];
  return resource === "pods"
    ? limits.flatMap((item) => podProblems(item, object as Wire<V1Pod>))
    : limits.flatMap((item) => claimProblems(item, object as Wire<V1PersistentVolumeClaim>));
}

/** Mirrors aggregate.Error in k8s.io/apimachinery/pkg/util/errors/errors.go. */
function aggregate(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? `${distinct[0]}` : `[${distinct.join(", ")}]`;
}
