import assert from "node:assert/strict";
import { test } from "vitest";
import { createRegistry } from "../../../../../src/cluster/apiserver/registry/generic/create-registry.js";
import type { ResourceStore } from "../../../../../src/cluster/apiserver/registry/rest/registry.js";
import { MemoryStorage } from "../../../../../src/cluster/apiserver/storage/memory.js";
import type { Freshness, GetResult } from "../../../../../src/cluster/apiserver/storage/storage.js";
import { FakeClock, FakeRandom } from "../../../../support/fake-clock.js";
import { recordingTrace } from "../../../../support/trace.js";
import { configMap, contextOf, ROWS, refusal } from "../rows.js";

/** A storage whose cache still has what it held when `lag` was called: another server has written since. */
class LaggingStorage extends MemoryStorage {
  readonly reads: ("cache" | "newest")[] = [];
  readonly #cache = new Map<string, GetResult>();

  async lag(key: string): Promise<void> {
    this.#cache.set(key, { ...(await super.get(key)), isCached: true });
  }

  override async get(key: string, { notOlderThan }: Freshness = {}): Promise<GetResult> {
    const cached = notOlderThan === undefined ? undefined : this.#cache.get(key);
    this.reads.push(cached === undefined ? "newest" : "cache");
    return cached ?? super.get(key);
  }
}

interface Lagging {
  readonly storage: LaggingStorage;
  readonly store: ResourceStore;
  readonly reads: string[];
}

/** A config map of which the cache has the version with n = 0, and the storage that with n = 1. */
async function openLagging(): Promise<Lagging> {
  const clock = new FakeClock();
  const storage = new LaggingStorage({ clock });
  const { trace } = recordingTrace(clock);
  const options = { random: new FakeRandom(), definitions: ROWS, admission: [], kubeVersion: "1.25" };
  const store = createRegistry({ storage, clock, trace, ...options }).store("configmaps");
  await store.create(contextOf(), "default", configMap("a", { n: "0" }));
  await storage.lag("/registry/configmaps/default/a");
  const newest = { ...(await store.get("default", "a")), data: { n: "1" } };
  await store.update(contextOf(), "default", "a", undefined, () => newest);
  storage.reads.length = 0;
  return { storage, store, reads: storage.reads };
}

test("a write begins with the cached object, and goes on with the newest after a conflict", async () => {
  const { store, reads } = await openLagging();
  const seen: unknown[] = [];
  const { object } = await store.update(contextOf(), "default", "a", undefined, (current) => {
    seen.push(current?.["data"]);
    return configMap("a", { n: "2" });
  });
  assert.deepEqual(seen, [{ n: "0" }, { n: "1" }]);
  assert.deepEqual(object["data"], { n: "2" });
  assert.deepEqual(reads, ["cache", "newest"]);
});

test("a version that is newer than the cache is no conflict, an older one is", async () => {
  const { store } = await openLagging();
  const newest = await store.get("default", "a");
  const { object } = await store.update(contextOf(), "default", "a", undefined, () => ({
    ...newest,
    data: { n: "2" },
  }));
  assert.deepEqual(object["data"], { n: "2" });
  const { code, reason } = await refusal(store.update(contextOf(), "default", "a", undefined, () => newest));
  assert.deepEqual([code, reason], [409, "Conflict"]);
});

test("that nothing changes is true of the newest object only", async () => {
  const { store, reads } = await openLagging();
  const { object } = await store.update(contextOf(), "default", "a", undefined, () => configMap("a", { n: "0" }));
  assert.deepEqual(object["data"], { n: "0" });
  assert.equal(object.metadata.resourceVersion, "4");
  assert.deepEqual(reads, ["cache", "newest"]);
});

test("a deletion with the newest version succeeds; a refusal comes from the newest object", async () => {
  const { store } = await openLagging();
  const { metadata } = await store.get("default", "a");
  const preconditions = { resourceVersion: "2" };
  assert.equal((await refusal(store.delete(contextOf(), "default", "a", { preconditions }))).code, 409);
  const resourceVersion = metadata.resourceVersion ?? "";
  const { gone } = await store.delete(contextOf(), "default", "a", { preconditions: { resourceVersion } });
  assert.equal(gone, true);
  assert.equal((await refusal(store.delete(contextOf(), "default", "a"))).code, 404);
});

test("a dry run begins with the newest object", async () => {
  const { store, reads } = await openLagging();
  await store.update(contextOf({ dryRun: true }), "default", "a", undefined, () => configMap("a", { n: "2" }));
  assert.deepEqual(reads, ["newest"]);
});

test("warnings of an attempt that met a conflict are not repeated", async () => {
  const { store } = await openLagging();
  const context = contextOf({ warnings: ["earlier"] });
  await store.update(context, "default", "a", undefined, () => {
    context.warnings.push("about this attempt");
    return configMap("a", { n: "2" });
  });
  assert.deepEqual(context.warnings, ["earlier", "about this attempt"]);
});
