import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { concurrently } from "../../../staging/apimachinery/wait.js";
import { forEachChange } from "../../../staging/client-go/informers/for-each-change.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import type { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { DecisionFact } from "../../../trace/events.js";
import type { Level, Trace } from "../../../trace/trace.js";
import { asController, retryReporter } from "./shared-deps.js";

/** What a controller does about the changes of one resource: usually, it adds a key to its queue. */
export interface ResourceEventHandler<T extends KubeObject> {
  /** a new object, or one that existed before the controller */
  added?(object: T): void;
  updated?(previous: T, object: T): void;
  deleted?(last: T): void;
}

/** Follows one resource for a controller. */
export interface ChangeSource {
  follow(trace: Trace, signal: AbortSignal): Promise<void>;
  synced(signal: AbortSignal): Promise<void>;
}

/**
 * The changes of a resource, each handled with its watch event as the cause. Mirrors ResourceEventHandlerFuncs in
 * k8s.io/client-go/tools/cache/controller.go.
 */
export function changesOf<T extends KubeObject>(
  reflector: SharedReflector<T>,
  handler: ResourceEventHandler<T>,
): ChangeSource {
  return {
    synced: (signal) => reflector.synced(signal),
    follow: (trace, signal) =>
      forEachChange(trace, reflector.changes(signal), (item) => {
        if (item.type === "initDone") return;
        if (item.type === "deleted") handler.deleted?.(item.object);
        else if (item.type === "applied" && item.previous !== undefined) handler.updated?.(item.previous, item.object);
        else handler.added?.(item.object);
      }),
  };
}

export interface SyncLoop {
  /** the controller's name, for reports */
  readonly name: string;
  readonly trace: Trace;
  readonly queue: WorkQueue;
  readonly sources: readonly ChangeSource[];
  /** Brings one object to its wanted state. It runs with the cause of what added the key; a rejection is reported and tried again later. */
  sync(key: string): Promise<void>;
  /** Reports a rejection; absent: as an error. */
  onError?(key: string, error: unknown): void;
  /** other queues of the controller, each with its own `sync` */
  readonly others?: readonly Pick<SyncLoop, "queue" | "sync">[];
}

/**
 * Runs a controller until `signal` aborts, and until the syncs that run then have ended: its handlers fill the queue, and once all its caches are filled, one key after another is
 * synced. Mirrors Run, worker and processNextWorkItem, which every controller upstream has.
 */
export async function runSyncLoop(loop: SyncLoop, signal: AbortSignal): Promise<void> {
  const { name, trace, sources, others = [] } = loop;
  const report = loop.onError?.bind(loop) ?? retryReporter(loop, name);
  const work = (one: Pick<SyncLoop, "queue" | "sync">) => async (stop: AbortSignal) => {
    await Promise.all(sources.map((source) => source.synced(stop)));
    await one.queue.run((key) => one.sync(key), report, stop);
  };
  await concurrently(
    signal,
    ...sources.map((source) => (stop: AbortSignal) => source.follow(trace, stop)),
    ...[loop, ...others].map(work),
  );
}

/** Reports a decision, and does `act` with it as the cause. */
export function decide<T>(trace: Trace, decision: Omit<DecisionFact, "kind">, act: () => T, level?: Level): T {
  return trace.because(asController(trace, { kind: "decision", ...decision }, level), act);
}
