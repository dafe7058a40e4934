import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import type { PodDisruptionBudget } from "../../../staging/apimachinery/policyv1/pod-disruption-budget.js";
import { matchesSelector } from "../../../staging/apimachinery/selector.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { factFor } from "../../../util/release/facts.js";
import type { Controller } from "../controller.js";
import { OwnWrites } from "../support/own-writes.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, runSyncLoop } from "../support/sync-loop.js";
import { StalePodDisruption } from "./stale-pod-disruption.js";
import { BUDGETS, failSafe, type SyncDeps, trySync } from "./try-sync.js";

const NAME = "disruption";
/** The kinds with a scale. */
const SCALED = ["replicationcontrollers", "deployments.apps", "replicasets.apps", "statefulsets.apps"] as const;

/**
 * Keeps the status of PodDisruptionBudgets, which decides about evictions.
 * Mirrors pkg/controller/disruption/disruption.go (DisruptionController).
 */
export function createDisruptionController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new DisruptionRun(deps).run(signal) };
}

class DisruptionRun {
  readonly #budgets: SharedReflector<PodDisruptionBudget>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #scaled: ReadonlyMap<string, SharedReflector>;
  readonly #queue: WorkQueue;
  readonly #stale: StalePodDisruption;
  readonly #syncDeps: SyncDeps;

  constructor(readonly deps: SharedDeps) {
    const { client, clock, trace, reflectors, definitions } = deps;
    this.#budgets = reflectors.of<PodDisruptionBudget>(BUDGETS);
    this.#pods = reflectors.of<PodObject>("pods");
    this.#scaled = new Map(SCALED.map((resource) => [resource, reflectors.of<KubeObject>(resource)]));
    this.#queue = new WorkQueue(clock);
    this.#stale = new StalePodDisruption(deps, this.#pods, new WorkQueue(clock));
    const get = (resource: string, namespace: string | undefined, name: string) =>
      this.#scaled.get(resource)?.get(namespace, name);
    const lookup = { definitions, get };
    const written = new OwnWrites<PodDisruptionBudget>();
    this.#syncDeps = { client, clock, trace, recorder: deps.recorderFor("controllermanager"), lookup, written };
  }

  run(signal: AbortSignal): Promise<void> {
    const { trace, kubeVersion } = this.deps;
    const enqueue = (budget: PodDisruptionBudget) => this.#queue.add(keyOf(budget));
    const marksPods = factFor("podDisruptionConditions", kubeVersion);
    const follow = (pod: PodObject) => {
      this.#enqueueBudgetOf(pod);
      if (marksPods) this.#stale.observe(pod);
    };
    const sources = [
      changesOf(this.#budgets, { added: enqueue, updated: (_previous, budget) => enqueue(budget), deleted: enqueue }),
      changesOf(this.#pods, {
        added: follow,
        updated: (_previous, pod) => follow(pod),
        deleted: (pod) => this.#enqueueBudgetOf(pod),
      }),
      // Only their caches are read.
      ...[...this.#scaled.values()].map((reflector) => changesOf(reflector, {})),
    ];
    const sync = (key: string) => this.#sync(key);
    const stale = { queue: this.#stale.queue, sync: (key: string) => this.#stale.sync(key) };
    return runSyncLoop({ name: NAME, trace, queue: this.#queue, sources, sync, others: [stale] }, signal);
  }

  /** Mirrors getPdbForPod. */
  #enqueueBudgetOf(pod: PodObject): void {
    const { namespace, labels } = pod.metadata;
    const budgets = this.#budgets.list().filter(({ metadata, spec }) => {
      return metadata.namespace === namespace && matchesSelector(spec?.selector, labels);
    });
    const [budget, another] = budgets;
    if (budget === undefined) return;
    if (another !== undefined) {
      const [shownNamespace, shownName] = [JSON.stringify(namespace ?? ""), JSON.stringify(nameOf(pod))];
      const message = `Pod ${shownNamespace}/${shownName} matches multiple PodDisruptionBudgets.  Chose ${JSON.stringify(nameOf(budget))} arbitrarily.`;
      this.#syncDeps.recorder.event(referenceTo(pod), "Warning", "MultiplePodDisruptionBudgets", message);
    }
    this.#queue.add(keyOf(budget));
  }

  async #sync(key: string): Promise<void> {
    const cached = this.#budgets.byKey(key);
    if (cached === undefined) {
      this.#syncDeps.written.forget(key);
      return;
    }
    const budget = this.#syncDeps.written.latest(cached);
    const { namespace } = budget.metadata;
    const pods = this.#pods.list().filter(({ metadata }) => {
      return metadata.namespace === namespace && matchesSelector(budget.spec?.selector, metadata.labels);
    });
    try {
      const recheckMs = await trySync(this.#syncDeps, budget, pods);
      if (recheckMs !== undefined) this.#queue.addAfter(key, recheckMs);
    } catch (error) {
      // The newer budget will be synced as well.
      if (error instanceof StatusError && error.reason === "Conflict") throw error;
      await failSafe(this.#syncDeps, budget, error);
    }
  }
}
