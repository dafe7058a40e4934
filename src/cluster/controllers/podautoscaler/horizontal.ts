import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import type { PodObject } from "../../../staging/apimachinery/api/objects.js";
import { parseLabelSelector } from "../../../staging/apimachinery/label-selector.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { Controller } from "../controller.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, runSyncLoop } from "../support/sync-loop.js";
import { ResourceMetricsClient } from "./metrics/client.js";
import { AUTOSCALERS, type ReconcileDeps, reconcileAutoscaler } from "./reconcile-autoscaler.js";
import { ReplicaCalculator } from "./replica-calculator.js";
import { ScalingHistory } from "./scaling-history.js";
import type { Hpa } from "./status.js";

const NAME = "horizontalpodautoscaling";
/** Each autoscaler is synced at this interval, and not earlier when it changes. Mirrors horizontal-pod-autoscaler-sync-period. */
const SYNC_PERIOD_MS = 15_000;

/**
 * Scales workloads by the use of their pods. Mirrors pkg/controller/podautoscaler/horizontal.go (HorizontalController).
 */
export function createHorizontalController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new HorizontalRun(deps).run(signal) };
}

class HorizontalRun {
  readonly #hpas: SharedReflector<Hpa>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #queue: WorkQueue;
  readonly #histories = new Map<string, ScalingHistory>();
  readonly #reconcileDeps: ReconcileDeps;

  constructor(readonly deps: SharedDeps) {
    const { client, clock, trace, reflectors, definitions } = deps;
    this.#hpas = reflectors.of<Hpa>(AUTOSCALERS);
    this.#pods = reflectors.of<PodObject>("pods");
    this.#queue = new WorkQueue(clock, { baseDelayMs: SYNC_PERIOD_MS, maxDelayMs: SYNC_PERIOD_MS });
    const metrics = new ResourceMetricsClient(client, definitions);
    const podsOf = (namespace: string, selector: string) => this.#podsOf(namespace, selector);
    const calculator = new ReplicaCalculator({ metrics, clock, podsOf });
    const recorder = deps.recorderFor("horizontal-pod-autoscaler");
    this.#reconcileDeps = { client, clock, trace, definitions, recorder, calculator };
  }

  run(signal: AbortSignal): Promise<void> {
    const enqueue = (hpa: Hpa) => this.#queue.addAfter(keyOf(hpa), SYNC_PERIOD_MS);
    const sources = [
      changesOf(this.#hpas, { added: enqueue, updated: (_previous, hpa) => enqueue(hpa), deleted: enqueue }),
      // Only its cache is read.
      changesOf(this.#pods, {}),
    ];
    const sync = (key: string) => this.#reconcileKey(key);
    return runSyncLoop({ name: NAME, trace: this.deps.trace, queue: this.#queue, sources, sync }, signal);
  }

  /** Mirrors reconcileKey and processNextWorkItem. A failure is tried again after the same time. */
  async #reconcileKey(key: string): Promise<void> {
    const hpa = this.#hpas.byKey(key);
    if (hpa === undefined) {
      this.#histories.delete(key);
      return;
    }
    const history = this.#histories.get(key) ?? new ScalingHistory();
    this.#histories.set(key, history);
    await reconcileAutoscaler(this.#reconcileDeps, hpa, history);
    this.#queue.addAfter(key, SYNC_PERIOD_MS);
  }

  #podsOf(namespace: string, selector: string): readonly PodObject[] {
    const matches = parseLabelSelector(selector);
    return this.#pods.list().filter(({ metadata }) => metadata.namespace === namespace && matches(metadata.labels));
  }
}
