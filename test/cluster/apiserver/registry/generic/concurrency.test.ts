import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import type { ResourceStore } from "../../../../../src/cluster/apiserver/registry/rest/registry.js";
import type { KubeObject, WatchEvent } from "../../../../../src/staging/apimachinery/api/meta.js";
import { StatusError } from "../../../../../src/staging/apimachinery/errors.js";
import { settle } from "../../../../support/fake-clock.js";
import { configMap, contextOf, fieldsOf, openLab } from "../rows.js";

type Step =
  | { readonly type: "create" | "delete"; readonly name: string }
  /** optimistic: reads, waits, writes with the version it read */
  | { readonly type: "put"; readonly name: string; readonly thinks: number }
  /** read-modify-write with retries: increments */
  | { readonly type: "count"; readonly name: string; readonly thinks: number };

const name = fc.constantFrom("a", "b", "c");
const thinks = fc.integer({ min: 0, max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constantFrom("create" as const, "delete" as const), name }),
  fc.record({ type: fc.constant("put" as const), name, thinks }),
  fc.record({ type: fc.constant("count" as const), name, thinks }),
);

async function pause(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await Promise.resolve();
}

const numberOf = (object: KubeObject) => Number(fieldsOf(object.data).n ?? 0);
const writesOf = (object: KubeObject) => (fieldsOf(object.data).writes as readonly string[] | undefined) ?? [];

/** What a client learned about its successful write. */
interface Acknowledged {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
}

/** @returns undefined if the write was refused because of a conflict */
async function run(store: ResourceStore, one: Step, id: string): Promise<Acknowledged | undefined> {
  const written = (object: KubeObject): KubeObject => ({
    ...object,
    data: { n: numberOf(object) + 1, writes: [...writesOf(object), id] },
  });
  const acknowledged = ({ metadata }: KubeObject) => ({
    id,
    revision: Number(metadata.resourceVersion),
    name: one.name,
  });
  try {
    switch (one.type) {
      case "create":
        return acknowledged(await store.create(contextOf(), "default", written(configMap(one.name))));
      case "delete":
        await store.delete(contextOf(), "default", one.name);
        return undefined;
      case "put": {
        const read = await store.get("default", one.name);
        await pause(one.thinks);
        const { object } = await store.update(contextOf(), "default", one.name, undefined, () => written(read));
        return acknowledged(object);
      }
      case "count": {
        const { object } = await store.update(contextOf(), "default", one.name, undefined, async (current) => {
          await pause(one.thinks);
          return written(current as KubeObject);
        });
        return acknowledged(object);
      }
    }
  } catch (error) {
    if (error instanceof StatusError && ["NotFound", "AlreadyExists", "Conflict"].includes(error.reason ?? ""))
      return undefined;
    throw error;
  }
}

/** Watches, resumes at random times, and rebuilds the objects from the events. */
async function follow(
  store: ResourceStore,
  options: { from: string; breakEvery: number },
  signal: AbortSignal,
): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  let { from: resourceVersion } = options;
  while (!signal.aborted) {
    let left = options.breakEvery;
    for await (const event of store.watch("default", { resourceVersion }, signal)) {
      assert.notEqual(event.type, "ERROR");
      const { resourceVersion: next = "" } = event.object.metadata;
      assert.ok(Number(next) > Number(resourceVersion), `${next} after ${resourceVersion}`);
      events.push(event);
      resourceVersion = next;
      if (--left === 0) break;
    }
  }
  return events;
}

function checkOrder(events: readonly WatchEvent[]): Map<string, KubeObject> {
  const model = new Map<string, KubeObject>();
  let last = 0;
  for (const { type, object } of events) {
    const { name: key = "", resourceVersion } = object.metadata;
    assert.ok(Number(resourceVersion) > last, `${resourceVersion} after ${last}`);
    last = Number(resourceVersion);
    assert.equal(model.has(key), type !== "ADDED", `${type} of ${key}`);
    if (type === "DELETED") model.delete(key);
    else model.set(key, object);
  }
  return model;
}

test("concurrent clients: no acknowledged write is lost; watchers see all changes in order and end equal to the store", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { minLength: 2, maxLength: 5 }),
      fc.integer({ min: 1, max: 5 }),
      async (clients, breakEvery) => {
        const { registry, storage } = openLab();
        const store = registry.store("configmaps");
        const stop = new AbortController();
        const steady = follow(store, { from: "1", breakEvery: -1 }, stop.signal);
        const broken = follow(store, { from: "1", breakEvery }, stop.signal);
        const acknowledged: Acknowledged[] = [];
        const play = async (steps: readonly Step[], client: number) => {
          for (const [index, one] of steps.entries()) {
            const done = await run(store, one, `${client}.${index}`);
            if (done !== undefined) acknowledged.push(done);
          }
        };
        await Promise.all(clients.map(play));
        await settle();
        stop.abort();
        const seen = await steady;
        assert.deepEqual(await broken, seen);
        const revisions = seen.map(({ object }) => Number(object.metadata.resourceVersion));
        assert.deepEqual(
          revisions,
          Array.from({ length: (await storage.currentRevision()) - 1 }, (_, i) => i + 2),
        );
        const model = checkOrder(seen);
        assert.deepEqual([...model.values()].sort(byName), (await store.list("default")).items);
        checkWrites(seen, acknowledged);
      },
    ),
    { numRuns: 150 },
  );
});

const byName = (a: KubeObject, b: KubeObject) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1);

/** Each acknowledged write is in the object of its revision, and in all later ones until the object is deleted. */
function checkWrites(events: readonly WatchEvent[], acknowledged: readonly Acknowledged[]): void {
  for (const { id, revision, name: key } of acknowledged) {
    const later = events.filter(
      ({ object }) => object.metadata.name === key && Number(object.metadata.resourceVersion) >= revision,
    );
    assert.equal(Number(later[0]?.object.metadata.resourceVersion), revision);
    const until = later.findIndex(({ type }) => type === "DELETED");
    for (const { object } of until < 0 ? later : later.slice(0, until)) {
      assert.ok(writesOf(object).includes(id), `write ${id} is missing at ${object.metadata.resourceVersion}`);
      assert.equal(numberOf(object), writesOf(object).length);
    }
  }
}
