import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import type { Evaluator } from "../../../staging/server/quota/evaluator.js";
import { isCharged } from "../../../staging/server/quota/pods.js";
import { changesQuotaType } from "../../../staging/server/quota/services.js";
import { onAbort } from "../../../util/async/abort.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf } from "../support/sync-loop.js";

/** Called when an object of the resource stops using some of the quotas of its namespace. */
type Replenish = (evaluator: Evaluator, namespace: string) => void;

/**
 * Follows the resources that quotas limit, for the changes after which a quota has more left.
 *
 * Mirrors pkg/controller/resourcequota/resource_quota_monitor.go (QuotaMonitor).
 * Differs: upstream follows all resources; here, only those that some quota has named.
 */
export class QuotaMonitor {
  readonly #followed = new Map<string, SharedReflector>();
  #fail: (error: unknown) => void = () => {};

  constructor(
    readonly deps: Pick<SharedDeps, "reflectors" | "trace" | "clock">,
    readonly replenish: Replenish,
  ) {}

  /** Ends when `signal` aborts. @throws the error of a watch */
  run(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      onAbort(signal, resolve);
    });
  }

  /**
   * Returns the objects of the evaluator's resource, which is followed from now on.
   * @param signal that of `run`
   */
  async follow(evaluator: Evaluator, signal: AbortSignal): Promise<SharedReflector> {
    const known = this.#followed.get(evaluator.resource);
    if (known !== undefined) return known;
    const reflector = this.deps.reflectors.of(evaluator.resource);
    await reflector.synced(signal);
    this.#followed.set(evaluator.resource, reflector);
    const changed = ({ metadata }: KubeObject) => this.replenish(evaluator, metadata.namespace ?? "");
    const updated = (previous: KubeObject, object: KubeObject) => {
      if (this.#frees(evaluator, previous, object)) changed(object);
    };
    changesOf(reflector, { updated, deleted: changed })
      .follow(this.deps.trace, signal)
      .catch((error: unknown) => this.#fail(error));
    return reflector;
  }

  /** Mirrors UpdateFunc in controllerFor. */
  #frees({ resource }: Evaluator, previous: KubeObject, object: KubeObject): boolean {
    const nowMs = this.deps.clock.now();
    if (resource === "pods") return isCharged(previous, nowMs) && !isCharged(object, nowMs);
    return resource === "services" && changesQuotaType(previous, object);
  }
}
