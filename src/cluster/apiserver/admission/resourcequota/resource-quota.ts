import { qualifiedResource } from "../../../../staging/apimachinery/errors.js";
import type {
  AdmissionAttributes,
  AdmissionPlugin,
  AdmissionSubject,
} from "../../../../staging/server/admission/interfaces.js";
import { Evaluators, IGNORED_RESOURCES } from "../../../../staging/server/quota/evaluators.js";
import type { Trace } from "../../../../trace/trace.js";
import type { Clock } from "../../../../util/clock.js";
import type { Registry } from "../../registry/rest/registry.js";
import { QuotaEvaluator } from "./quota-evaluator.js";

export interface ResourceQuotaDeps {
  readonly registry: Registry;
  readonly clock: Pick<Clock, "now">;
  readonly trace: Trace;
}

/**
 * Refuses writes that would exceed a quota of their namespace, and charges the others to it.
 *
 * Mirrors k8s.io/apiserver/pkg/admission/plugin/resourcequota/admission.go (QuotaAdmission.Validate).
 * Differs: reads the store instead of a cache that can lag behind.
 */
export class ResourceQuota implements AdmissionPlugin {
  readonly name = "ResourceQuota";
  readonly #evaluators: Evaluators;
  #evaluator: QuotaEvaluator | undefined;

  constructor(readonly deps: ResourceQuotaDeps) {
    this.#evaluators = new Evaluators(deps.clock);
  }

  /** A namespace is in itself, but nothing limits how many there are. */
  handles(write: AdmissionSubject): boolean {
    const resource = qualifiedResource(write);
    if (write.subresource !== "" || resource === "namespaces" || IGNORED_RESOURCES.includes(resource)) return false;
    return this.#evaluators.of(resource).handles(write.operation);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { namespace } = attributes;
    if (namespace === "") return;
    // The registry has no stores yet when the plugins are made.
    this.#evaluator ??= new QuotaEvaluator({ ...this.deps, quotas: this.deps.registry.store("resourcequotas") });
    if ((await this.#evaluator.quotasOf(namespace)).length === 0) return;
    await this.#evaluator.evaluate(attributes, this.#evaluators.of(qualifiedResource(attributes)));
  }
}
