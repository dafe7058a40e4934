import { expect, test } from "vitest";
import { EtcdClient } from "../../src/cluster/apiserver/storage/etcd/client.js";
import { openEndpoints } from "../../src/cluster/apiserver/storage/etcd/endpoints.js";
import type { KubeList, KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import type { KubeClient, KubeRequest, KubeResponse } from "../../src/staging/client-go/rest/client.js";
import { SystemClock } from "../../src/util/clock.js";
import {
  checkList,
  checkSegment,
  checkWrites,
  endOf,
  type SeenList,
  type Segment,
  type Write,
} from "../cluster/apiserver/storage/etcd/history-checks.js";
import { RawHistory } from "../cluster/apiserver/storage/etcd/raw-history.js";
import { Caller, ClusterServer } from "../support/cluster-server.js";
import { TestEtcd } from "../support/etcd.js";
import { SeededRandom } from "../support/fake-clock.js";
import { freePort } from "../support/free-port.js";
import { suiteNeeding } from "../support/requirements.js";

const NAMESPACE = "faults";
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
const PREFIX = `/registry/leases/${NAMESPACE}/`;
const NAMES = ["a", "b", "c", "d", "e"];
const CLIENTS = 8;
const clock = new SystemClock();

const idOf = (object: KubeObject) => (object["spec"] as { readonly holderIdentity?: string }).holderIdentity;
const versionOf = ({ metadata }: { readonly metadata: { readonly resourceVersion?: string } }) =>
  Number(metadata.resourceVersion);
const stateOf = ({ items }: KubeList) =>
  new Map(items.map((item) => [`${PREFIX}${item.metadata.name}`, versionOf(item)]));

function lease(name: string, id: string, resourceVersion?: string): KubeObject {
  const metadata = { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  return { kind: "Lease", apiVersion: "coordination.k8s.io/v1", metadata, spec: { holderIdentity: id } };
}

interface World {
  readonly servers: readonly KubeClient[];
  readonly writes: Write[];
  newestAcknowledged: number;
}

/** Creates, updates and deletes at random until `isOver`. */
async function runClient(world: World, client: number, random: SeededRandom, isOver: () => boolean): Promise<void> {
  const caller = new Caller(world.servers, client);
  for (let i = 0; !isOver() || i < 20; i++) {
    const name = NAMES[Math.floor(random.float() * NAMES.length)] ?? "a";
    const query = random.float() < 0.5 ? { resourceVersion: 0 } : {};
    const read = await caller.ask({ method: "GET", path: `${LEASES}/${name}`, query });
    if (read === undefined) continue;
    const id = `${client}-${i}`;
    const current = read.status === 200 ? read.body.metadata.resourceVersion : undefined;
    const type = current !== undefined && random.float() < 0.3 ? "delete" : "put";
    const answer = await caller.ask(requestFor(type, name, id, current));
    const acknowledged = acknowledgedBy(answer);
    world.writes.push({ id, key: PREFIX + name, type, before: Number(current ?? 0), acknowledged });
    if (typeof acknowledged === "number") world.newestAcknowledged = Math.max(world.newestAcknowledged, acknowledged);
    await clock.sleep(random.float() * 10);
  }
}

function requestFor(type: Write["type"], name: string, id: string, current: string | undefined): KubeRequest {
  if (current === undefined) return { method: "POST", path: LEASES, body: lease(name, id) };
  const path = `${LEASES}/${name}`;
  if (type === "put") return { method: "PUT", path, body: lease(name, id, current) };
  const preconditions = { resourceVersion: current };
  return { method: "DELETE", path, body: { kind: "DeleteOptions", apiVersion: "v1", preconditions } };
}

function acknowledgedBy(answer: KubeResponse<KubeObject> | undefined): Write["acknowledged"] {
  if (answer === undefined) return undefined;
  if (answer.status >= 400) return "refused";
  return answer.body.kind === "Lease" ? versionOf(answer.body) : "done";
}

/** Watches as a reflector does: resumes at the other server where it was, and lists again only after 410. */
async function runWatcher(caller: Caller, segments: Segment[], random: SeededRandom, signal: AbortSignal) {
  while (!signal.aborted) {
    const segment = segments.at(-1) as Segment;
    try {
      for await (const { type, object } of caller.server.watch(LEASES, { resourceVersion: endOf(segment) }, signal)) {
        if (type === "ERROR") {
          expect(object).toMatchObject({ code: 410 });
          await listAgain(caller, segments);
          break;
        }
        const change = type === "DELETED" ? "delete" : "put";
        const key = `${PREFIX}${object.metadata.name}`;
        segment.events.push({ revision: versionOf(object), type: change, key, id: String(idOf(object)) });
        if (random.float() < 0.02) break;
      }
      caller.at++;
    } catch (error) {
      await caller.goOver(error);
    }
  }
}

async function listAgain(caller: Caller, segments: Segment[]): Promise<void> {
  const list = await caller.ask<KubeList>({ method: "GET", path: LEASES });
  if (list !== undefined) segments.push({ start: versionOf(list.body), listed: stateOf(list.body), events: [] });
}

/** Newest lists of both servers, each with what was acknowledged before it began. */
async function runLister(world: World, signal: AbortSignal): Promise<readonly SeenList[]> {
  const lists: SeenList[] = [];
  const caller = new Caller(world.servers, 0);
  while (!signal.aborted) {
    const after = world.newestAcknowledged;
    caller.at++;
    const list = await caller.ask<KubeList>({ method: "GET", path: LEASES });
    if (list !== undefined) lists.push({ revision: versionOf(list.body), state: stateOf(list.body), after });
    await clock.sleep(5);
  }
  return lists;
}

const FAULTS = ["server 1", "server 2", "etcd killed", "etcd stopped", "compacted"] as const;
/** Both servers are killed in each run; the others are drawn. */
const ALWAYS = ["server 1", "server 2"] as const;
const DRAWN = 5;

async function fault(
  what: (typeof FAULTS)[number],
  etcd: TestEtcd,
  history: RawHistory,
  servers: readonly ClusterServer[],
  random: SeededRandom,
): Promise<void> {
  await clock.sleep(random.float() * 400);
  if (what === "etcd killed") {
    await etcd.goDown();
    await clock.sleep(random.float() * 300);
    await etcd.comeBack();
  } else if (what === "etcd stopped") {
    etcd.pause();
    await clock.sleep(random.float() * 1_000);
    etcd.continue();
  } else if (what === "compacted") {
    await etcd.ctl("compaction", String(await history.read()));
  } else {
    const server = servers[what === "server 1" ? 0 : 1] as ClusterServer;
    await server.kill();
    await clock.sleep(random.float() * 300);
    await server.up();
  }
}

async function run(seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const randoms = () => new SeededRandom(Math.floor(random.float() * 1e9));
  const etcd = await TestEtcd.start();
  const raw = new EtcdClient(await openEndpoints({ servers: [etcd.url] }));
  const watching = new AbortController();
  let isOver = false;
  try {
    await using first = new ClusterServer(etcd, await freePort());
    await using second = new ClusterServer(etcd, await freePort());
    const servers = [first, second];
    await Promise.all(servers.map((server) => server.up()));
    const callees = await Promise.all(servers.map((server) => server.client()));
    const world: World = { servers: callees, writes: [], newestAcknowledged: 0 };
    const caller = new Caller(world.servers, 0);
    const body = { kind: "Namespace", apiVersion: "v1", metadata: { name: NAMESPACE } };
    const namespace = await caller.ask({ method: "POST", path: "/api/v1/namespaces", body });
    const start = versionOf(namespace?.body as KubeObject);
    const history = new RawHistory(raw, PREFIX, idOf, start);
    const seen: Segment[][] = [0, 1, 2, 3].map(() => [{ start, listed: undefined, events: [] }]);
    const watchers = seen.map((segments, i) =>
      runWatcher(new Caller(world.servers, i), segments, randoms(), watching.signal),
    );
    const lister = runLister(world, watching.signal);
    const clients = Array.from({ length: CLIENTS }, (_, i) => runClient(world, i, randoms(), () => isOver));
    const drawn = Array.from(
      { length: DRAWN },
      () => FAULTS[Math.floor(random.float() * FAULTS.length)] ?? "compacted",
    );
    const faults = [...ALWAYS, ...drawn];
    for (const one of faults) await fault(one, etcd, history, servers, random);
    isOver = true;
    await Promise.all(clients);
    const last = { method: "POST", path: LEASES, body: lease("last", "last") } as const;
    const isThere = async () => [201, 409].includes((await caller.ask(last))?.status ?? 0);
    await expect.poll(isThere, { timeout: 30_000 }).toBe(true);
    await history.read();
    const end = history.changes.at(-1)?.revision ?? 0;
    const ends = () => seen.map((segments) => endOf(segments.at(-1) as Segment));
    await expect.poll(ends, { timeout: 30_000 }).toEqual([end, end, end, end]);
    watching.abort();
    await Promise.all(watchers);
    const lists = await lister;
    // The servers write keys of their own, so that the last list may be of a later revision.
    await history.read();

    const acknowledged = world.writes.filter((write) => !["refused", undefined].includes(write.acknowledged as string));
    const what = `seed ${seed}: ${faults.join(", ")}; ${acknowledged.length} of ${world.writes.length} writes done`;
    checkWrites(world.writes, history);
    for (const segment of seen.flat()) checkSegment(segment, history);
    for (const list of lists) checkList(list, history, what);
    expect(acknowledged.length, what).toBeGreaterThan(100);
    for (const client of world.servers) await client.close();
  } finally {
    isOver = true;
    watching.abort();
    etcd.continue();
    raw.close();
    await etcd.stop();
  }
}

suiteNeeding(["etcd"], "eight clients of two servers, while a server or etcd is killed, stopped or compacted", () => {
  for (const seed of [1, 2, 3]) {
    test(`no acknowledged write is lost, no watcher sees a gap or a disorder (seed ${seed})`, () => run(seed));
  }
});
