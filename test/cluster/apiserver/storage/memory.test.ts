import assert from "node:assert/strict";
import { test } from "vitest";
import { MemoryStorage, type MemoryStorageOptions } from "../../../../src/cluster/apiserver/storage/memory.js";
import {
  CompactedError,
  SlowWatcherError,
  type StorageEvent,
} from "../../../../src/cluster/apiserver/storage/storage.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { FakeClock, settle } from "../../../support/fake-clock.js";

const PREFIX = "/registry/things/";
const MINUTE_MS = 60_000;

function thing(name: string, value: number | string = 0): KubeObject {
  return { kind: "Thing", apiVersion: "v1", metadata: { name }, value };
}

function open(options: MemoryStorageOptions = {}) {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ clock }, options);
  const put = async (name: string, value: number | string = 0) => {
    const key = `${PREFIX}${name}`;
    const { entry } = await storage.get(key);
    const written =
      entry === undefined
        ? await storage.create(key, thing(name, value))
        : await storage.update(key, thing(name, value), entry.modRevision);
    assert(written !== undefined);
    return written.modRevision;
  };
  return { clock, storage, put };
}

async function read(events: AsyncIterable<StorageEvent>, count: number): Promise<string[]> {
  const seen: string[] = [];
  for await (const { type, key, revision } of events) {
    seen.push(`${type} ${key.slice(PREFIX.length)} ${revision}`);
    if (seen.length === count) break;
  }
  return seen;
}

const anySignal = () => new AbortController().signal;

test("one counter of revisions, compare-and-swap on the modification revision", async () => {
  const { storage } = open();
  assert.equal(await storage.currentRevision(), 1);
  const created = await storage.create(`${PREFIX}a`, thing("a"));
  assert.deepEqual(
    [created?.createRevision, created?.modRevision, created?.object.metadata.resourceVersion],
    [2, 2, "2"],
  );
  assert.equal(await storage.create(`${PREFIX}a`, thing("a")), undefined);
  assert.equal(await storage.update(`${PREFIX}a`, thing("a", 1), 1), undefined);
  const updated = await storage.update(`${PREFIX}a`, thing("a", 1), 2);
  assert.deepEqual([updated?.createRevision, updated?.modRevision], [2, 3]);
  assert.equal(await storage.delete(`${PREFIX}a`, 2), undefined);
  const deleted = await storage.delete(`${PREFIX}a`, 3);
  assert.deepEqual(
    [deleted?.modRevision, deleted?.object.metadata.resourceVersion, deleted?.object.value],
    [4, "4", 1],
  );
  assert.equal((await storage.get(`${PREFIX}a`)).entry, undefined);
  assert.equal((await storage.get(`${PREFIX}a`)).revision, 4);
});

test("an exact list shows an old revision, also in chunks", async () => {
  const { storage, put } = open();
  await put("a");
  await put("c", 1);
  const moment = await put("d");
  await put("b");
  await put("c", 2);
  await storage.delete(`${PREFIX}d`, moment);
  const names = async (range: Parameters<MemoryStorage["list"]>[1]) => {
    const { entries, remainingCount, revision } = await storage.list(PREFIX, range);
    return `${entries.map(({ object }) => `${object.metadata.name}${String(object.value)}`).join(" ")} +${remainingCount} @${revision}`;
  };
  assert.equal(await names({}), "a0 b0 c2 +0 @7");
  assert.equal(await names({ limit: 2 }), "a0 b0 +1 @7");
  assert.equal(await names({ limit: 2, afterKey: `${PREFIX}b` }), "c2 +0 @7");
  assert.equal(await names({ atRevision: moment }), "a0 c1 d0 +0 @4");
  assert.equal(await names({ atRevision: moment, limit: 1, afterKey: `${PREFIX}a` }), "c1 +1 @4");
  assert.equal(await names({ atRevision: 1 }), " +0 @1");
});

test("a watch resumes from any revision in the history, and continues live without a gap", async () => {
  const { storage, put } = open();
  await put("a");
  await put("b");
  await put("a", 1);
  await storage.create("/registry/others/x", thing("x"));
  const stop = new AbortController();
  const reading = read(storage.watch(PREFIX, 2, stop.signal), 4);
  await settle();
  await put("c");
  await storage.delete(`${PREFIX}b`, 3);
  assert.deepEqual(await reading, ["put b 3", "put a 4", "put c 6", "delete b 7"]);
  assert.equal(storage.watcherCount, 0);
});

test("an aborted watch ends normally and leaves nothing behind", async () => {
  const { storage } = open();
  const stop = new AbortController();
  const reading = read(storage.watch(PREFIX, 1, stop.signal), 1);
  await settle();
  assert.equal(storage.watcherCount, 1);
  stop.abort();
  assert.deepEqual(await reading, []);
  assert.equal(storage.watcherCount, 0);
});

test("a watcher that does not read is disconnected, the others continue", async () => {
  const { storage, put } = open({ watchBacklog: { changes: 3 } });
  const slow = storage.watch(PREFIX, 1, anySignal())[Symbol.asyncIterator]();
  const first = slow.next();
  await settle();
  const quick: number[] = [];
  const reading = (async () => {
    for await (const { revision } of storage.watch(PREFIX, 1, anySignal())) if (quick.push(revision) === 6) return;
  })();
  await settle();
  for (let i = 0; i < 6; i++) {
    await put("a", i);
    await settle();
  }
  await reading;
  assert.deepEqual(quick, [2, 3, 4, 5, 6, 7]);
  assert.equal((await first).value.revision, 2);
  // The queued events are still delivered, then the watch ends.
  for (const revision of [3, 4, 5]) assert.equal((await slow.next()).value.revision, revision);
  await assert.rejects(slow.next(), SlowWatcherError);
  assert.equal(storage.watcherCount, 0);
});

test("all watchers get the same event object", async () => {
  const { storage, put } = open();
  const next = () => storage.watch(PREFIX, 1, anySignal())[Symbol.asyncIterator]().next();
  const both = Promise.all([next(), next()]);
  await settle();
  await put("a");
  const [one, two] = await both;
  assert.equal(one.value, two.value);
});

test("compaction: after 5 to 10 minutes exact reads of a revision end, watches from it do not", async () => {
  const { clock, storage, put } = open();
  await put("a");
  const token = await put("b");
  await put("c");
  await clock.advance(4 * MINUTE_MS);
  assert.equal((await storage.list(PREFIX, { atRevision: token })).entries.length, 2);
  await clock.advance(7 * MINUTE_MS);
  await assert.rejects(storage.list(PREFIX, { atRevision: token }), CompactedError);
  assert.equal((await storage.list(PREFIX, { atRevision: 4 })).entries.length, 3);
  assert.deepEqual(await read(storage.watch(PREFIX, token, anySignal()), 1), ["put c 4"]);
});

test("compact() also ends watches from earlier revisions, even for new resources", async () => {
  const { storage, put } = open();
  await put("a");
  await put("b");
  await storage.compact(3);
  await assert.rejects(read(storage.watch(PREFIX, 2, anySignal()), 1), { name: "CompactedError", asked: 2, oldest: 3 });
  await assert.rejects(read(storage.watch("/registry/others/", 2, anySignal()), 1), CompactedError);
  await put("c");
  assert.deepEqual(await read(storage.watch(PREFIX, 3, anySignal()), 1), ["put c 4"]);
  await assert.rejects(storage.list(PREFIX, { atRevision: 2 }), CompactedError);
});

test("compactReads() ends exact reads of earlier revisions; watches still resume from them", async () => {
  const { storage, put } = open();
  await put("a");
  await put("b");
  storage.compactReads(3);
  await assert.rejects(storage.list(PREFIX, { atRevision: 2 }), CompactedError);
  assert.equal((await storage.list(PREFIX, { atRevision: 3 })).entries.length, 2);
  assert.deepEqual(await read(storage.watch(PREFIX, 2, anySignal()), 1), ["put b 3"]);
});

test("history: apart from the newest 100 changes, watches can only start from recent ones", async () => {
  const { clock, storage, put } = open();
  for (let i = 0; i < 150; i++) await put("a", i);
  assert.equal((await read(storage.watch(PREFIX, 1, anySignal()), 150)).length, 150);
  await clock.advance(80_000);
  await put("a", 150);
  await assert.rejects(read(storage.watch(PREFIX, 1, anySignal()), 1), { asked: 1, oldest: 52 });
  assert.equal((await read(storage.watch(PREFIX, 52, anySignal()), 100)).length, 100);
  // Not compacted yet: an exact read still works.
  assert.equal((await storage.list(PREFIX, { atRevision: 2 })).entries[0]?.object.value, 0);
});

test("history: its size is bounded regardless of time", async () => {
  const { storage, put } = open({ history: { maxCount: 200 } });
  for (let i = 0; i < 1000; i++) await put("a", i);
  await assert.rejects(storage.list(PREFIX, { atRevision: 700 }), CompactedError);
  assert.equal((await storage.list(PREFIX, { atRevision: 801 })).entries[0]?.object.value, 799);
  await assert.rejects(read(storage.watch(PREFIX, 700, anySignal()), 1), CompactedError);
});

test("history: the total size of its changes is bounded; the newest is always kept", async () => {
  const { storage, put } = open({ history: { maxBytes: 10_000 } });
  for (let i = 0; i < 10; i++) await put("a", "x".repeat(3000));
  await assert.rejects(read(storage.watch(PREFIX, 7, anySignal()), 1), CompactedError);
  assert.equal((await read(storage.watch(PREFIX, 8, anySignal()), 3)).length, 3);
  await put("a", "x".repeat(50_000));
  assert.equal((await read(storage.watch(PREFIX, 11, anySignal()), 1)).length, 1);
  await assert.rejects(read(storage.watch(PREFIX, 10, anySignal()), 1), CompactedError);
});

test("close ends all watches", async () => {
  const { storage } = open();
  const reading = read(storage.watch(PREFIX, 1, anySignal()), 1);
  await settle();
  await storage.close();
  await storage.close();
  assert.deepEqual(await reading, []);
  assert.deepEqual(await read(storage.watch(PREFIX, 1, anySignal()), 1), []);
});
