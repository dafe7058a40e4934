import assert from "node:assert/strict";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  CompactedError,
  SlowWatcherError,
  type Storage,
  type StorageEvent,
} from "../../../../src/cluster/apiserver/storage/storage.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";

export interface OpenContract {
  readonly storage: Storage;
  close(): Promise<void>;
}

function thing(name: string, value: unknown = 0): KubeObject {
  return { kind: "Thing", apiVersion: "v1", metadata: { name }, value };
}

/** Room for tests of their own: each has its prefix, and counts revisions from where it begins. */
class Room {
  static #count = 0;
  readonly prefix = `/registry/things-${++Room.#count}/`;
  readonly #names = new Map<number, string>();

  constructor(readonly storage: Storage) {}

  key(name: string): string {
    return `${this.prefix}${name}`;
  }

  async put(name: string, value: unknown = 0): Promise<number> {
    const { entry } = await this.storage.get(this.key(name));
    const written =
      entry === undefined
        ? await this.storage.create(this.key(name), thing(name, value))
        : await this.storage.update(this.key(name), thing(name, value), entry.modRevision);
    assert(written !== undefined);
    this.#names.set(written.modRevision, `${name}${String(value)}`);
    return written.modRevision;
  }

  async delete(name: string): Promise<number> {
    const { entry } = await this.storage.get(this.key(name));
    const deleted = entry && (await this.storage.delete(this.key(name), entry.modRevision));
    assert(deleted !== undefined);
    return deleted.modRevision;
  }

  watch(afterRevision: number, signal = new AbortController().signal): AsyncIterable<StorageEvent> {
    return this.storage.watch(this.prefix, afterRevision, signal);
  }

  text({ type, key, object, previous }: StorageEvent): string {
    const was = previous === undefined ? "" : ` was ${String(previous["value"])}`;
    return `${type} ${key.slice(this.prefix.length)} ${String(object["value"])}${was}`;
  }

  /** The first `count` changes. */
  async read(events: AsyncIterable<StorageEvent>, count: number): Promise<string[]> {
    const seen: string[] = [];
    if (count === 0) return seen;
    for await (const event of events) {
      expect(event.object.metadata.resourceVersion).toBe(String(event.revision));
      if (seen.push(this.text(event)) === count) break;
    }
    return seen;
  }

  async names(range: Parameters<Storage["list"]>[1]): Promise<string> {
    const { entries, remainingCount } = await this.storage.list(this.prefix, range);
    return `${entries.map(({ object }) => `${object.metadata.name}${String(object["value"])}`).join(" ")} +${remainingCount}`;
  }
}

/** What every storage does, whatever keeps its state. @param open called once */
export function storageContract(open: () => Promise<OpenContract>): void {
  let opened: OpenContract;
  let room: Room;
  const inRoom = (title: string, body: (one: Room, storage: Storage) => Promise<void>) =>
    test(title, async () => {
      room = new Room(opened.storage);
      await body(room, opened.storage);
    });

  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  inRoom("one counter of revisions, compare-and-swap on the modification revision", async ({ key }, storage) => {
    const a = `${room.prefix}a`;
    const before = await storage.currentRevision();
    const created = await storage.create(a, thing("a"));
    expect(created).toMatchObject({ key: a, createRevision: before + 1, modRevision: before + 1 });
    expect(created?.object.metadata.resourceVersion).toBe(String(before + 1));
    expect(await storage.create(a, thing("a"))).toBe(undefined);
    expect(await storage.update(a, thing("a", 1), before)).toBe(undefined);
    expect(await storage.update(`${room.prefix}none`, thing("none"), before)).toBe(undefined);
    const updated = await storage.update(a, thing("a", 1), before + 1);
    expect(updated).toMatchObject({ createRevision: before + 1, modRevision: before + 2 });
    expect(await storage.delete(a, before + 1)).toBe(undefined);
    const deleted = await storage.delete(a, before + 2);
    expect(deleted).toMatchObject({ modRevision: before + 3, object: thing("a", 1) });
    expect(deleted?.object.metadata.resourceVersion).toBe(String(before + 3));
    expect(await storage.get(a)).toEqual({ entry: undefined, revision: before + 3 });
    expect(await storage.currentRevision()).toBe(before + 3);
    expect(typeof key).toBe("function");
  });

  inRoom("what was written is read with its resourceVersion, and is not what the writer had", async (one, storage) => {
    const object = {
      ...thing("a", "ä\u2028 <&> \u{1F600}"),
      metadata: { name: "a", resourceVersion: "7", labels: { x: "y" } },
    };
    const written = await storage.create(one.key("a"), object);
    const { entry } = await storage.get(one.key("a"));
    expect(entry).toMatchObject({
      key: one.key("a"),
      modRevision: written?.modRevision,
      createRevision: written?.createRevision,
    });
    expect(entry?.object).toEqual({
      ...object,
      metadata: { name: "a", labels: { x: "y" }, resourceVersion: String(written?.modRevision) },
    });
    expect(object.metadata.resourceVersion).toBe("7");
  });

  inRoom("a list is sorted by key and has no keys of other prefixes", async (one, storage) => {
    for (const name of ["b", "a/x", "a", "a.b", "a-b"]) await one.put(name);
    await storage.create(`${one.prefix.slice(0, -1)}0`, thing("after"));
    await storage.create(`${one.prefix.slice(0, -1)}-more/x`, thing("before"));
    const { entries } = await storage.list(one.prefix);
    expect(entries.map(({ key }) => key.slice(one.prefix.length))).toEqual(["a", "a-b", "a.b", "a/x", "b"]);
  });

  inRoom("an exact list shows an old revision, also in chunks", async (one, storage) => {
    const start = await storage.currentRevision();
    await one.put("a");
    await one.put("c", 1);
    const moment = await one.put("d");
    await one.put("b");
    await one.put("c", 2);
    await one.delete("d");
    const table: [Parameters<Storage["list"]>[1], string][] = [
      [{}, "a0 b0 c2 +0"],
      [{ limit: 2 }, "a0 b0 +1"],
      [{ limit: 2, afterKey: one.key("b") }, "c2 +0"],
      [{ limit: 0, afterKey: one.key("c") }, " +0"],
      [{ limit: -1 }, "a0 b0 c2 +0"],
      [{ atRevision: moment }, "a0 c1 d0 +0"],
      [{ atRevision: moment, limit: 1, afterKey: one.key("a") }, "c1 +1"],
      [{ atRevision: start }, " +0"],
    ];
    for (const [range, names] of table) expect(await one.names(range), JSON.stringify(range)).toBe(names);
    expect((await storage.list(one.prefix, { atRevision: moment })).revision).toBe(moment);
    expect((await storage.list(one.prefix)).revision).toBe(await storage.currentRevision());
  });

  inRoom("a watch resumes from any revision, and continues live without a gap", async (one, storage) => {
    const first = await one.put("a");
    await one.put("b");
    await one.put("a", 1);
    await storage.create(`${one.prefix.slice(0, -1)}-more/x`, thing("x"));
    const reading = one.read(one.watch(first), 4);
    await one.put("c");
    await one.delete("b");
    expect(await reading).toEqual(["put b 0", "put a 1 was 0", "put c 0", "delete b 0 was 0"]);
    expect(await one.read(one.watch(first - 1), 2)).toEqual(["put a 0", "put b 0"]);
  });

  inRoom("a narrower prefix, an older and a newer watch of one resource", async (one, storage) => {
    const start = await storage.currentRevision();
    await one.put("n1/a");
    const middle = await one.put("n2/a");
    const inNamespace = one.read(storage.watch(one.key("n2/"), start, new AbortController().signal), 2);
    const newer = one.read(one.watch(middle), 2);
    const older = one.read(one.watch(start), 4);
    await one.put("n1/b");
    await one.put("n2/a", 1);
    expect(await inNamespace).toEqual(["put n2/a 0", "put n2/a 1 was 0"]);
    expect(await newer).toEqual(["put n1/b 0", "put n2/a 1 was 0"]);
    expect(await older).toEqual(["put n1/a 0", "put n2/a 0", "put n1/b 0", "put n2/a 1 was 0"]);
  });

  inRoom("a watch from a revision to come begins with that one", async (one, storage) => {
    const start = await storage.currentRevision();
    const reading = one.read(one.watch(start + 2), 1);
    for (const value of [1, 2, 3]) await one.put("a", value);
    expect(await reading).toEqual(["put a 3 was 2"]);
  });

  inRoom("a watch of all resources has the changes of each", async (one, storage) => {
    const start = await storage.currentRevision();
    await one.put("a");
    await storage.create(`${one.prefix.slice(0, -1)}-more/x`, thing("x"));
    const seen: string[] = [];
    for await (const { key } of storage.watch("/registry/", start, new AbortController().signal)) {
      if (seen.push(key) === 2) break;
    }
    expect(seen).toEqual([one.key("a"), `${one.prefix.slice(0, -1)}-more/x`]);
  });

  inRoom("eight writers and two watchers: every write once, in order of revision", async (one, storage) => {
    const start = await storage.currentRevision();
    const readings = [0, 1].map(() => one.read(one.watch(start), 80));
    const revisions = await Promise.all(
      [0, 1, 2, 3, 4, 5, 6, 7].map(async (writer) => {
        const mine: number[] = [];
        for (let i = 0; i < 10; i++) mine.push(await one.put(`w${writer}`, i));
        return mine;
      }),
    );
    const [first, second] = await Promise.all(readings);
    expect(first).toEqual(second);
    expect(new Set(first).size).toBe(80);
    const all = revisions.flat();
    expect(new Set(all).size).toBe(80);
    expect(Math.max(...all)).toBe(await storage.currentRevision());
  });

  inRoom("of writers with the same revision one wins", async (one, storage) => {
    const revision = await one.put("a");
    const writes = await Promise.all(
      [1, 2, 3, 4].map((value) => storage.update(one.key("a"), thing("a", value), revision)),
    );
    expect(writes.filter((written) => written !== undefined)).toHaveLength(1);
    const creations = await Promise.all([1, 2, 3].map((value) => storage.create(one.key("new"), thing("new", value))));
    expect(creations.filter((written) => written !== undefined)).toHaveLength(1);
  });

  inRoom("an aborted watch ends normally", async (one) => {
    const stop = new AbortController();
    const reading = one.read(one.watch(1_000_000, stop.signal), 1);
    stop.abort();
    expect(await reading).toEqual([]);
    expect(await one.read(one.watch(0, AbortSignal.abort()), 1)).toEqual([]);
  });

  inRoom("a watcher that does not read is disconnected, the others continue", async (one, storage) => {
    const start = await storage.currentRevision();
    const slow = one.watch(start)[Symbol.asyncIterator]();
    const first = slow.next();
    const backlog = storage.watchBacklog.changes;
    expect(backlog).toBeLessThan(100);
    const quick = one.read(one.watch(start), backlog + 3);
    for (let i = 0; i < backlog + 3; i++) await one.put("a", i);
    expect(await quick).toHaveLength(backlog + 3);
    expect((await first).value.object.value).toBe(0);
    const rest = async () => {
      for (let i = 0; i < backlog + 3; i++) await slow.next();
    };
    await assert.rejects(rest(), SlowWatcherError);
  });

  inRoom("all watchers get the same event object", async (one, storage) => {
    const start = await storage.currentRevision();
    const next = () => one.watch(start)[Symbol.asyncIterator]().next();
    const both = Promise.all([next(), next()]);
    await one.put("a");
    const [a, b] = await both;
    expect(a.value).toBe(b.value);
  });

  inRoom("compact() ends exact reads and watches of earlier revisions", async (one, storage) => {
    const first = await one.put("a");
    await one.put("b");
    const compacted = await one.put("c");
    await storage.compact(compacted);
    await storage.compact(compacted);
    await assert.rejects(storage.list(one.prefix, { atRevision: first }), CompactedError);
    await assert.rejects(one.read(one.watch(first), 1), CompactedError);
    await assert.rejects(
      one.read(storage.watch("/registry/others/", first, new AbortController().signal), 1),
      CompactedError,
    );
    expect(await one.names({ atRevision: compacted })).toBe("a0 b0 c0 +0");
    await one.put("d");
    expect(await one.read(one.watch(compacted), 1)).toEqual(["put d 0"]);
  });
}

/** Closing is the end of a storage, so each of these opens its own. */
export function closeContract(open: () => Promise<OpenContract>): void {
  test("close ends all watches, and can be repeated", async () => {
    const { storage, close } = await open();
    try {
      const one = new Room(storage);
      const revision = await one.put("a");
      const past = one.read(one.watch(revision), 1);
      const all = one.read(storage.watch("/registry/", revision, new AbortController().signal), 1);
      await storage.close();
      await storage.close();
      expect(await Promise.all([past, all])).toEqual([[], []]);
      expect(await one.read(one.watch(revision), 1)).toEqual([]);
    } finally {
      await close();
    }
  });
}
