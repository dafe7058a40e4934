import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import type { ApiResource } from "../../../staging/apimachinery/api/resource.js";
import { qualifiedResource } from "../../../staging/apimachinery/errors.js";
import { concurrently, every } from "../../../staging/apimachinery/wait.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { calculateUsage, type Evaluator, type ResourceQuota } from "../../../staging/server/quota/evaluator.js";
import { Evaluators, IGNORED_RESOURCES } from "../../../staging/server/quota/evaluators.js";
import { type Amounts, maskAmounts, sameAmounts } from "../../../staging/server/quota/resources.js";
import type { Controller } from "../controller.js";
import { deletableResources } from "../support/deletable.js";
import { OwnWrites } from "../support/own-writes.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, decide, runSyncLoop } from "../support/sync-loop.js";
import { QuotaMonitor } from "./quota-monitor.js";

const NAME = "resourcequota";
const FILE = "pkg/controller/resourcequota/resource_quota_controller.go";
/** `--resource-quota-sync-period` */
const RESYNC_PERIOD_MS = 5 * 60_000;

/**
 * Keeps the status of quotas: what they limit, and how much of it the objects of their namespace use. The API server adds what new
 * objects use; this controller counts again when objects go, and every five minutes.
 *
 * Mirrors pkg/controller/resourcequota/resource_quota_controller.go (Controller).
 * Differs: one queue; upstream has a second one for quotas whose usage is not known yet.
 */
export function createResourceQuotaController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new ResourceQuotaRun(deps).run(signal) };
}

class ResourceQuotaRun {
  readonly #quotas: SharedReflector<ResourceQuota>;
  readonly #queue: WorkQueue;
  readonly #written = new OwnWrites<ResourceQuota>();
  readonly #evaluators: Evaluators;
  readonly #monitor: QuotaMonitor;

  constructor(readonly deps: SharedDeps) {
    const { clock, reflectors } = deps;
    this.#quotas = reflectors.of<ResourceQuota>("resourcequotas");
    this.#queue = new WorkQueue(clock);
    this.#evaluators = new Evaluators(clock);
    this.#monitor = new QuotaMonitor(deps, (evaluator, namespace) => this.#replenish(evaluator, namespace));
  }

  run(signal: AbortSignal): Promise<void> {
    const { trace } = this.deps;
    const quotas = changesOf(this.#quotas, {
      added: (quota) => this.#queue.add(keyOf(quota)),
      // The status is this controller's and the API server's work.
      updated: (previous, quota) => {
        if (!sameAmounts(previous.spec?.hard ?? {}, quota.spec?.hard ?? {})) this.#queue.add(keyOf(quota));
      },
      deleted: (quota) => this.#written.forget(keyOf(quota)),
    });
    return concurrently(
      signal,
      (stop) => this.#monitor.run(stop),
      (stop) => {
        const sync = (key: string) => this.#sync(key, stop);
        const loop = { name: NAME, trace, queue: this.#queue, sources: [quotas], sync };
        return runSyncLoop(loop, stop);
      },
      async (stop) => {
        await this.#quotas.synced(stop);
        await every(this.deps, RESYNC_PERIOD_MS, async () => this.#enqueueAll(), stop);
      },
    );
  }

  #enqueueAll(): void {
    for (const quota of this.#quotas.list()) this.#queue.add(keyOf(quota));
  }

  /** Mirrors replenishQuota. */
  #replenish(evaluator: Evaluator, namespace: string): void {
    for (const quota of this.#quotas.list()) {
      if (quota.metadata.namespace !== namespace) continue;
      const limited = Object.keys(quota.status?.hard ?? {});
      if (evaluator.matchingResources(limited).length > 0) this.#queue.add(keyOf(quota));
    }
  }

  /** Mirrors syncResourceQuota. */
  async #sync(key: string, signal: AbortSignal): Promise<void> {
    const cached = this.#quotas.byKey(key);
    if (cached === undefined) return;
    const quota = this.#written.latest(cached);
    const usage = await this.#count(quota, signal);
    const { spec, status } = quota;
    const hard = spec?.hard ?? {};
    const used = { ...maskAmounts(status?.used ?? {}, Object.keys(hard)), ...usage };
    const isDirty = !hasSameHard(quota) || status?.used === undefined || !sameAmounts(used, status.used);
    if (!isDirty) return;
    const decision = {
      what: `set the usage of ResourceQuota ${key}`,
      why: changesIn(status?.used ?? {}, used, hard),
      upstream: { file: FILE, func: "syncResourceQuota" },
    };
    const { client, trace } = this.deps;
    const counted: ResourceQuota = { ...quota, status: { hard, used } };
    const written = await decide(trace, decision, () =>
      client.update<ResourceQuota>("resourcequotas", counted, "status"),
    );
    this.#written.remember(written);
  }

  async #count(quota: ResourceQuota, signal: AbortSignal): Promise<Amounts> {
    const limited = Object.keys(quota.spec?.hard ?? {});
    const all = quotableResources(this.deps.definitions).map((resource) => this.#evaluators.of(resource));
    const matching = all.filter((one) => one.matchingResources(limited).length > 0);
    const objects = new Map<Evaluator, SharedReflector>();
    for (const evaluator of matching) objects.set(evaluator, await this.#monitor.follow(evaluator, signal));
    // Objects that the API server has charged to this version of the quota, but not stored yet, are there after this turn. A later charge
    // makes another version, and the write of this one fails. Differs: upstream can lose such an object until it counts again.
    await new Promise((resolve) => setImmediate(resolve));
    const { namespace } = quota.metadata;
    const objectsOf = (evaluator: Evaluator) =>
      (objects.get(evaluator)?.list() ?? []).filter(({ metadata }) => metadata.namespace === namespace);
    return calculateUsage(quota, matching, objectsOf);
  }
}

/** Mirrors GetQuotableResources. */
function quotableResources(definitions: readonly ApiResource[]): readonly string[] {
  return deletableResources(definitions)
    .filter(({ namespaced, verbs }) => namespaced && verbs.includes("create"))
    .map(qualifiedResource)
    .filter((resource) => !IGNORED_RESOURCES.includes(resource));
}

function hasSameHard({ spec, status }: ResourceQuota): boolean {
  return status?.hard !== undefined && sameAmounts(spec?.hard ?? {}, status.hard);
}

/** `pods 3 -> 2 of 5, services 1 of 1` */
function changesIn(before: Amounts, used: Amounts, hard: Amounts): string {
  const lines = Object.keys(hard)
    .sort()
    .map((name) => {
      const [old = "unknown", now = "unknown"] = [before[name], used[name]];
      return `${name} ${old === now ? now : `${old} -> ${now}`} of ${hard[name]}`;
    });
  return lines.length === 0 ? "it limits nothing" : lines.join(", ");
}
