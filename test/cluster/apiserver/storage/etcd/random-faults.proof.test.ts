import { expect, test } from "vitest";
import { EtcdClient } from "../../../../../src/cluster/apiserver/storage/etcd/client.js";
import { openEndpoints } from "../../../../../src/cluster/apiserver/storage/etcd/endpoints.js";
import type { EtcdStorage } from "../../../../../src/cluster/apiserver/storage/etcd/store.js";
import { CompactedError, type StoredEntry } from "../../../../../src/cluster/apiserver/storage/storage.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { SystemClock } from "../../../../../src/util/clock.js";
import type { TestEtcd } from "../../../../support/etcd.js";
import { SeededRandom } from "../../../../support/fake-clock.js";
import { suiteNeeding } from "../../../../support/requirements.js";
import { openOwnEtcd, openStorage } from "./fixtures.js";
import {
  checkList,
  checkSegment,
  checkWrites,
  endOf,
  type SeenList,
  type Segment,
  type Write,
} from "./history-checks.js";
import { RawHistory } from "./raw-history.js";

const PREFIX = "/registry/things/";
const KEYS = ["a", "b", "c", "d", "n/e"];
const CLIENTS = 8;
const FAULTS = 8;
const clock = new SystemClock();

/** The storage of one server, and the revision that its clients know to be written. */
interface World {
  readonly servers: readonly EtcdStorage[];
  readonly writes: Write[];
  newestAcknowledged: number;
}

function thing(id: string): KubeObject {
  return { kind: "Thing", apiVersion: "v1", metadata: { name: "x" }, id };
}

async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch(() => undefined);
}

/** Creates, updates and deletes at random until `isOver`, by one server. */
async function runClient(world: World, client: number, random: SeededRandom, isOver: () => boolean): Promise<void> {
  const storage = world.servers[client % world.servers.length] as EtcdStorage;
  for (let i = 0; !isOver() || i < 20; i++) {
    const key = PREFIX + (KEYS[Math.floor(random.float() * KEYS.length)] ?? "a");
    const isCached = random.float() < 0.5;
    const read = await orUndefined(storage.get(key, isCached ? { notOlderThan: 0 } : {}));
    if (read === undefined) continue;
    const id = `${client}-${i}`;
    const type = read.entry !== undefined && random.float() < 0.3 ? "delete" : "put";
    const attempt = write(storage, key, type, id, read.entry);
    const before = read.entry?.modRevision ?? 0;
    const acknowledged = await attempt.then(
      (entry) => entry?.modRevision ?? ("refused" as const),
      () => undefined,
    );
    world.writes.push({ id, key, type, before, acknowledged });
    if (typeof acknowledged === "number") {
      world.newestAcknowledged = Math.max(world.newestAcknowledged, acknowledged);
    }
    // A client that is never refused by the machine's speed would leave no room for the others.
    await clock.sleep(random.float() * 10);
  }
}

function write(storage: EtcdStorage, key: string, type: Write["type"], id: string, entry: StoredEntry | undefined) {
  if (entry === undefined) return storage.create(key, thing(id));
  if (type === "delete") return storage.delete(key, entry.modRevision);
  return storage.update(key, thing(id), entry.modRevision);
}

/** Watches as a reflector does: resumes where it was, and lists again only when it is told to. */
async function runWatcher(storage: EtcdStorage, segments: Segment[], random: SeededRandom, signal: AbortSignal) {
  while (!signal.aborted) {
    const segment = segments.at(-1) as Segment;
    let seen = endOf(segment);
    try {
      for await (const event of storage.watch(PREFIX, seen, signal)) {
        const { revision, type, key, object } = event;
        segment.events.push({ revision, type, key, id: String(object["id"]) });
        seen = revision;
        if (random.float() < 0.02) break;
      }
    } catch (error) {
      if (!(error instanceof CompactedError)) throw error;
      const list = await orUndefined(storage.list(PREFIX));
      if (list === undefined) continue;
      const listed = new Map(list.entries.map((entry) => [entry.key, entry.modRevision]));
      segments.push({ start: list.revision, listed, events: [] });
    }
  }
}

/** Newest lists of both servers, each with what was acknowledged before it began. */
async function runLister(world: World, signal: AbortSignal): Promise<readonly SeenList[]> {
  const lists: SeenList[] = [];
  for (let i = 0; !signal.aborted; i++) {
    const after = world.newestAcknowledged;
    const list = await orUndefined((world.servers[i % world.servers.length] as EtcdStorage).list(PREFIX));
    if (list === undefined) continue;
    const state = new Map(list.entries.map((entry) => [entry.key, entry.modRevision]));
    lists.push({ revision: list.revision, state, after });
    await clock.sleep(5);
  }
  return lists;
}

async function fault(etcd: TestEtcd, history: RawHistory, server: EtcdStorage, random: SeededRandom): Promise<string> {
  const kind = ["killed", "stopped", "compacted"][Math.floor(random.float() * 3)] ?? "killed";
  if (kind === "killed") {
    await etcd.goDown();
    await clock.sleep(random.float() * 300);
    await etcd.comeBack();
  } else if (kind === "stopped") {
    etcd.pause();
    await clock.sleep(random.float() * 1_500);
    etcd.continue();
  } else {
    await server.compact(await history.read());
  }
  await clock.sleep(random.float() * 300);
  return kind;
}

async function createdLast(storage: EtcdStorage): Promise<StoredEntry | undefined> {
  const key = `${PREFIX}last`;
  await orUndefined(storage.create(key, thing("last")));
  return (await orUndefined(storage.get(key)))?.entry;
}

async function run(seed: number): Promise<void> {
  const { storage, etcd, stop } = await openOwnEtcd({ requestTimeoutMs: 1_000 });
  const other = await openStorage({ servers: [etcd.url] }, { requestTimeoutMs: 1_000 });
  const raw = new EtcdClient(await openEndpoints({ servers: [etcd.url] }));
  const random = new SeededRandom(seed);
  const randoms = () => new SeededRandom(Math.floor(random.float() * 1e9));
  const world: World = { servers: [storage, other.storage], writes: [], newestAcknowledged: 0 };
  const watching = new AbortController();
  let isOver = false;
  try {
    const start = await storage.currentRevision();
    const history = new RawHistory(raw, PREFIX, (object) => object["id"], start);
    const seen: Segment[][] = [0, 1, 2, 3].map(() => [{ start, listed: undefined, events: [] }]);
    const watchers = seen.map((segments, i) =>
      runWatcher(world.servers[i % 2] as EtcdStorage, segments, randoms(), watching.signal),
    );
    const lister = runLister(world, watching.signal);
    const clients = Array.from({ length: CLIENTS }, (_, i) => runClient(world, i, randoms(), () => isOver));
    const faults: string[] = [];
    for (let i = 0; i < FAULTS; i++) faults.push(await fault(etcd, history, storage, random));
    isOver = true;
    await Promise.all(clients);
    await expect.poll(() => createdLast(storage)).toBeDefined();
    const end = await history.read();
    const ends = () => seen.map((segments) => endOf(segments.at(-1) as Segment) >= end);
    await expect.poll(ends, { timeout: 30_000 }).toEqual([true, true, true, true]);
    watching.abort();
    await Promise.all(watchers);

    const what = `seed ${seed}: ${faults.join(", ")}; ${world.writes.length} writes`;
    checkWrites(world.writes, history);
    for (const segment of seen.flat()) checkSegment(segment, history);
    for (const list of await lister) checkList(list, history, what);
    expect(world.writes.filter(({ acknowledged }) => typeof acknowledged === "number").length).toBeGreaterThan(50);
  } finally {
    isOver = true;
    watching.abort();
    etcd.continue();
    raw.close();
    await other.storage.close();
    await stop();
  }
}

suiteNeeding(["etcd"], "eight clients of two servers, while etcd is killed, stopped and compacted", () => {
  for (const seed of [1, 2, 3]) {
    test(`no acknowledged write is lost, no watcher sees a gap or a disorder (seed ${seed})`, () => run(seed));
  }
});
