import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Face } from "../../cluster/apiserver/server/support.js";
import { HttpsClient } from "../../support/https-client.js";
import { SpawnedServer } from "../../support/spawned-server.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const MERGE = { "content-type": "application/merge-patch+json" };
const MEGABYTE = 1024 * 1024;

interface WatchEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of any shape
  readonly object: any;
}

/** Looks at each byte once: of an event of a megabyte come a hundred pieces. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<WatchEvent> {
  let rest = "";
  for await (const chunk of response) {
    const [first = "", ...others] = String(chunk).split("\n");
    rest += first;
    for (const next of others) {
      yield JSON.parse(rest) as WatchEvent;
      rest = next;
    }
  }
}

async function take(response: IncomingMessage, count: number): Promise<WatchEvent[]> {
  const taken: WatchEvent[] = [];
  for await (const event of eventsOf(response)) if (taken.push(event) === count) break;
  return taken;
}

const versionOf = ({ object }: WatchEvent) => Number(object.metadata.resourceVersion);

describe("many watchers (a server of their own)", () => {
  let server: SpawnedServer;
  let client: HttpsClient;
  let watchers: HttpsClient;
  beforeEach(async () => {
    server = await SpawnedServer.start();
    client = new HttpsClient(server.access);
    watchers = new HttpsClient(server.access, 500);
    await client.ask(CONFIG_MAPS, { method: "POST", body: { metadata: { name: "x" }, data: { n: "0" } } });
  });
  afterEach(async () => {
    client.close();
    watchers.close();
    const { unhandled, bugs } = await server.usage();
    expect({ unhandled, bugs, code: await server.close() }).toEqual({ unhandled: [], bugs: [], code: 0 });
  });

  test("500 at once all see the same events in order; their memory is freed when they leave", async () => {
    const CHANGES = 20;
    const before = await server.usage();
    const { resourceVersion } = (await client.ask(CONFIG_MAPS)).body.metadata;
    const path = `${CONFIG_MAPS}?watch=1&resourceVersion=${resourceVersion}`;
    const responses = await Promise.all(Array.from({ length: 500 }, () => watchers.open(path)));
    const seen = Promise.all(responses.map((response) => take(response, CHANGES)));
    for (let n = 1; n <= CHANGES; n++) {
      await client.ask(`${CONFIG_MAPS}/x`, { method: "PATCH", headers: MERGE, body: { data: { n: String(n) } } });
    }
    const [first = [], ...others] = (await seen).map((events) =>
      events.map((one) => [versionOf(one), one.object.data.n]),
    );
    expect(first.map(([, n]) => n)).toEqual(Array.from({ length: CHANGES }, (_, i) => String(i + 1)));
    for (const other of others) expect(other).toEqual(first);
    watchers.close();
    let after = await server.usage();
    while ((after.resources["TCPSocketWrap"] ?? 0) > 1) after = await server.usage();
    // Heap after garbage collection: 500 watchers that are kept take 10 MB.
    expect((after.usedBytes - before.usedBytes) / MEGABYTE).toBeLessThan(4);
  });
});

describe("a watcher that stops reading, beside one that reads", () => {
  /** More than the buffers of both sockets hold. */
  const CHANGES = 40;
  let face: Face;
  beforeEach(async () => {
    face = await Face.open({ watchBacklog: { bytes: 2 * MEGABYTE } });
    await face.ask(CONFIG_MAPS, { method: "POST", body: { metadata: { name: "x" }, data: { n: "0" } } });
  });
  afterEach(() => face.close());

  const watch = () => face.open(`${CONFIG_MAPS}?watch=1`, { as: { ...face.admin } });

  /** Changes of a megabyte, each read by the quick watcher before the next. */
  async function stallOne(slow: IncomingMessage): Promise<void> {
    const quick = eventsOf(await watch());
    for (let n = 0; n <= CHANGES; n++) {
      const data = { n: String(n), data: "x".repeat(MEGABYTE - 1000) };
      if (n > 0) await face.ask(`${CONFIG_MAPS}/x`, { method: "PATCH", headers: MERGE, body: { data } });
      const { value } = await quick.next();
      expect(value?.object.data.n).toBe(String(n));
    }
    await quick.return(undefined);
    expect(slow.readableFlowing).not.toBe(true);
  }

  test("its stream ends once its backlog is full, without a gap before", async () => {
    const slow = await watch();
    await stallOne(slow);
    const events: string[] = [];
    for await (const { object } of eventsOf(slow)) events.push(object.data.n);
    expect(slow.complete).toBe(true);
    expect(events).toEqual(Array.from({ length: events.length }, (_, i) => String(i)));
    expect(events.length).toBeLessThan(CHANGES);
  });

  test("its connection is cut after a minute without reading", async () => {
    const slow = await watch();
    const cut = once(slow, "aborted");
    await stallOne(slow);
    await face.clock.advance(60_000);
    slow.on("error", () => {}).resume();
    await cut;
    expect(slow.complete).toBe(false);
  });
});

describe("one serialisation per event", () => {
  /** How often the server encodes JSON while `count` watchers see ten changes. */
  async function serialisations(count: number): Promise<number> {
    await using face = await Face.open();
    await face.ask(CONFIG_MAPS, { method: "POST", body: { metadata: { name: "x" } } });
    const responses = await Promise.all(
      Array.from({ length: count }, () => face.open(`${CONFIG_MAPS}?watch=1`, { as: { ...face.admin } })),
    );
    const seen = Promise.all(responses.map((response) => take(response, 11)));
    // Encoded beforehand, so that only the server's calls count.
    const bodies = Array.from({ length: 10 }, (_, n) => `{"data":{"n":"${n}"}}`);
    const stringify = vi.spyOn(JSON, "stringify");
    for (const body of bodies) await face.ask(`${CONFIG_MAPS}/x`, { method: "PATCH", headers: MERGE, body });
    await seen;
    const { length } = stringify.mock.calls;
    stringify.mockRestore();
    return length;
  }

  test("40 watchers cost as many as one", async () => {
    expect(await serialisations(40)).toBe(await serialisations(1));
  });
});

describe("resuming, bookmarks, timeouts", () => {
  let face: Face;
  beforeEach(async () => {
    face = await Face.open();
  });
  afterEach(() => face.close());

  const watch = (query: string, on = face) => on.open(`${CONFIG_MAPS}?watch=1&${query}`, { as: { ...on.admin } });
  const put = async (name: string, n: number, on = face) => {
    const data = { n: String(n) };
    const method = n === 0 ? "POST" : "PATCH";
    const path = n === 0 ? CONFIG_MAPS : `${CONFIG_MAPS}/${name}`;
    return (await on.ask(path, { method, headers: n === 0 ? {} : MERGE, body: { metadata: { name }, data } })).body;
  };

  test("from every kept revision: exactly the later changes", async () => {
    const versions: number[] = [];
    for (let n = 0; n < 30; n++)
      for (const name of ["a", "b"]) versions.push(Number((await put(name, n)).metadata.resourceVersion));
    for (const [index, version] of versions.slice(0, -1).entries()) {
      const response = await watch(`resourceVersion=${version}`);
      const rest = versions.slice(index + 1);
      expect((await take(response, rest.length)).map(versionOf)).toEqual(rest);
      response.destroy();
    }
  });

  test("from a revision that is forgotten: one ERROR with a 410, and the list's revision works", async () => {
    // So many changes that the first are beyond the window of 100 once they are older than 75 s.
    const { metadata } = await put("a", 0);
    for (let n = 1; n < 130; n++) await put("a", n);
    await face.clock.advance(80_000);
    await put("a", 130);
    const response = await watch(`resourceVersion=${metadata.resourceVersion}`);
    const events = await take(response, 2);
    expect(events.map(({ type, object }) => [type, object.code, object.reason])).toEqual([["ERROR", 410, "Expired"]]);
    const { resourceVersion } = (await face.ask(CONFIG_MAPS)).body.metadata;
    const resumed = await watch(`resourceVersion=${resourceVersion}`);
    await put("a", 131);
    expect((await take(resumed, 1)).map(({ object }) => object.data.n)).toEqual(["131"]);
    resumed.destroy();
  });

  test("bookmarks: every minute and shortly before the end, only on request; a watch can resume there", async () => {
    const { metadata } = await put("a", 0);
    const asked = await watch(`resourceVersion=${metadata.resourceVersion}&allowWatchBookmarks=true&timeoutSeconds=90`);
    const unasked = await watch(`resourceVersion=${metadata.resourceVersion}&timeoutSeconds=90`);
    const [withBookmarks, without] = [take(asked, 99), take(unasked, 99)];
    const { resourceVersion } = (await put("a", 1)).metadata;
    await face.clock.advance(90_000);
    const events = await withBookmarks;
    expect(events.map(({ type }) => type).slice(0, 3)).toEqual(["MODIFIED", "BOOKMARK", "BOOKMARK"]);
    const bookmark = { kind: "ConfigMap", apiVersion: "v1", metadata: { resourceVersion, creationTimestamp: null } };
    expect(events.at(-1)).toEqual({ type: "BOOKMARK", object: bookmark });
    expect((await without).map(({ type }) => type)).toEqual(["MODIFIED"]);
    // Both have ended by themselves, as streams that are complete.
    expect([asked.complete, unasked.complete]).toEqual([true, true]);
    const resumed = await watch(`resourceVersion=${resourceVersion}`);
    await put("a", 2);
    expect((await take(resumed, 1)).map(({ object }) => object.data.n)).toEqual(["2"]);
    resumed.destroy();
  });

  test("a watch without a timeout ends by itself after 30 to 60 minutes", async () => {
    const response = await watch("resourceVersion=0");
    const all = take(response, 99);
    await face.clock.advance(29 * 60_000);
    expect(response.complete).toBe(false);
    await face.clock.advance(31 * 60_000);
    await all;
    expect(response.complete).toBe(true);
  });
});

describe("sendInitialEvents, by release", () => {
  const NOT_OLDER = "resourceVersionMatch=NotOlderThan";
  const table: readonly (readonly [kubeVersion: string, query: string, outcome: number | readonly string[]])[] = [
    // Unknown to this release, so it is ignored: without a revision the watch starts with the existing objects.
    ["1.25", "sendInitialEvents=true", ["ADDED a", "ADDED b", "MODIFIED a"]],
    ["1.25", `sendInitialEvents=true&${NOT_OLDER}`, 422],
    // Known, but behind a gate.
    ["1.27", `sendInitialEvents=true&${NOT_OLDER}`, 422],
    ["1.31", `sendInitialEvents=true&${NOT_OLDER}`, 422],
    ["1.32", "sendInitialEvents=true", 422],
    ["1.32", NOT_OLDER, 422],
    ["1.32", `sendInitialEvents=true&${NOT_OLDER}`, ["ADDED a", "ADDED b", "MODIFIED a"]],
    [
      "1.32",
      `sendInitialEvents=true&${NOT_OLDER}&allowWatchBookmarks=true`,
      ["ADDED a", "ADDED b", "BOOKMARK true", "MODIFIED a"],
    ],
    [
      "1.34",
      `sendInitialEvents=true&${NOT_OLDER}&allowWatchBookmarks=true`,
      ["ADDED a", "ADDED b", "BOOKMARK true", "MODIFIED a"],
    ],
  ];
  for (const [kubeVersion, query, outcome] of table) {
    test(`v${kubeVersion} ?${query}: ${typeof outcome === "number" ? outcome : outcome.join(", ")}`, async () => {
      await using face = await Face.open({ kubeVersion });
      for (const name of ["a", "b"]) await face.ask(CONFIG_MAPS, { method: "POST", body: { metadata: { name } } });
      const response = await face.open(`${CONFIG_MAPS}?watch=1&${query}`, { as: { ...face.admin } });
      if (typeof outcome === "number") {
        expect(response.statusCode).toBe(outcome);
        response.resume();
        return;
      }
      const events = take(response, outcome.length);
      await face.ask(`${CONFIG_MAPS}/a`, { method: "PATCH", headers: MERGE, body: { data: { x: "y" } } });
      const end = "k8s.io/initial-events-end";
      const shown = (await events).map(
        ({ type, object: { metadata } }) => `${type} ${metadata.name ?? metadata.annotations[end]}`,
      );
      expect(shown).toEqual(outcome);
      response.destroy();
    });
  }
});
