import { keyOf, splitKey } from "../../staging/apimachinery/api/object-key.js";
import { concurrently } from "../../staging/apimachinery/wait.js";
import { forEachChange } from "../../staging/client-go/informers/for-each-change.js";
import { WorkQueue } from "../../staging/client-go/workqueue.js";
import { constantsFor, factFor } from "../../util/release/facts.js";
import type { Controller } from "./controller.js";
import { asController, retryReporter, type SharedDeps } from "./support/shared-deps.js";

const NAME = "event-ttl";

/**
 * Deletes events an hour after their last change.
 *
 * Differs: upstream stores events under an etcd lease of `--event-ttl` (staging/src/k8s.io/apiserver/pkg/storage/etcd3/
 * store.go, ttlOpts), and etcd deletes them; the store in memory has no leases. On etcd this controller does not run.
 */
export function createEventTtlController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => run(deps, signal) };
}

async function run(deps: SharedDeps, signal: AbortSignal): Promise<void> {
  const { client, clock, kubeVersion, reflectors, trace } = deps;
  const events = reflectors.of("events");
  const ttlMs = factFor("eventTtl", kubeVersion);
  const queue = new WorkQueue(clock);
  const watch = async (stop: AbortSignal) => {
    await forEachChange(trace, events.changes(stop), (item) => {
      if (item.type === "initDone") return;
      const key = keyOf(item.object);
      queue.cancel(key);
      if (item.type === "deleted") return;
      const changedMs = item.type === "applied" ? clock.now() : Date.parse(lastChange(item.object));
      queue.addAfter(key, (Number.isNaN(changedMs) ? clock.now() : changedMs) + ttlMs - clock.now());
    });
  };
  const expire = async (key: string) => {
    const { namespace, name } = splitKey(key);
    const constants = constantsFor(kubeVersion, "eventTtl");
    const cause = asController(
      trace,
      {
        kind: "decision",
        what: `delete event ${key}`,
        why: "its time to live has passed since its last change",
        constants,
      },
      3,
    );
    await trace.because(cause, () => client.delete("events", namespace, name));
  };
  const report = retryReporter(deps, NAME);
  await concurrently(signal, watch, (stop) => queue.run(expire, report, stop));
}

function lastChange(event: { readonly [field: string]: unknown }): string {
  const { lastTimestamp, metadata } = event as {
    readonly lastTimestamp?: string | null;
    readonly metadata?: { readonly creationTimestamp?: string | null };
  };
  return lastTimestamp ?? metadata?.creationTimestamp ?? "";
}
