import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { type ReflectEvent, reflect } from "../../../../src/staging/client-go/cache/reflect.js";
import { Trace } from "../../../../src/trace/trace.js";
import { LabError } from "../../../../src/util/errors.js";
import { FakeClock, FakeRandom, settle } from "../../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../../support/memory-client.js";
import { recordingTrace } from "../../../support/trace.js";

const node = (name: string, resourceVersion = "1") => ({ metadata: { name, resourceVersion } });
const list = (resourceVersion: string, ...names: string[]): MemoryAnswer => ({
  status: 200,
  body: { kind: "NodeList", apiVersion: "v1", metadata: { resourceVersion }, items: names.map((name) => node(name)) },
});

function start(answers: (MemoryAnswer | Error)[], clock = new FakeClock(), trace = new Trace(clock)) {
  const client = new MemoryClient(() => answers.shift() ?? list("99"));
  const stop = new AbortController();
  const seen: string[] = [];
  const causes: (string | undefined)[] = [];
  const say = (event: ReflectEvent) =>
    "object" in event ? `${event.type} ${event.object.kind}/${event.object.metadata.name}` : event.type;
  const done = (async () => {
    const options = { path: "/api/v1/nodes", fieldSelector: "metadata.name=a" };
    for await (const event of reflect({ client, clock, random: new FakeRandom(0), trace }, options, stop.signal)) {
      seen.push(say(event));
      causes.push(event.causedBy);
    }
  })();
  done.catch(() => {});
  return { clock, client, stop, seen, causes, done };
}

const event = (type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK", name: string, resourceVersion: string) => ({
  type,
  object: { kind: "Node", apiVersion: "v1", ...node(name, resourceVersion) },
});

const GONE = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: "Expired", code: 410 };

describe("reflect", () => {
  const notLists: readonly unknown[] = ["text", null, [], {}, { kind: "NodeList", metadata: {}, items: {} }];
  for (const body of [...notLists, { kind: "NodeList", metadata: {}, items: [null] }]) {
    test(`a response that is not a list is requested again later: ${JSON.stringify(body)}`, async () => {
      const { clock, stop, seen, done } = start([{ status: 200, body }, list("5", "a")]);
      await settle();
      assert.deepEqual(seen, []);
      await clock.advance(1_000);
      assert.deepEqual(seen, ["init", "applied Node/a", "initDone"]);
      stop.abort();
      await done;
    });
  }

  test("a fresh list is not a change; items get the kind that lists leave out", async () => {
    const { client, stop, seen, done } = start([list("5", "a", "b")]);
    await settle();
    assert.deepEqual(seen, ["init", "applied Node/a", "applied Node/b", "initDone"]);
    client.watches[0]?.queue.push(event("MODIFIED", "a", "6"));
    client.watches[0]?.queue.push(event("BOOKMARK", "", "7"));
    client.watches[0]?.queue.push(event("DELETED", "b", "8"));
    await settle();
    assert.deepEqual(seen.slice(4), ["applied Node/a", "deleted Node/b"]);
    stop.abort();
    await done;
  });

  test("events carry the fact that caused them: the list's request or the watch event", async () => {
    const clock = new FakeClock();
    const { trace } = recordingTrace(clock);
    const { client, stop, causes, done } = start([list("5", "a")], clock, trace);
    await settle();
    const listed = client.requests[0]?.factId;
    assert.notEqual(listed, undefined);
    client.watches[0]?.queue.push({ ...event("MODIFIED", "a", "6"), causedBy: "w1" });
    client.watches[0]?.queue.push({ ...event("DELETED", "a", "7"), causedBy: "w2" });
    await settle();
    assert.deepEqual(causes, [listed, listed, listed, "w1", "w2"]);
    stop.abort();
    await done;
  });

  test("an ended watch is resumed from the last version seen, bookmarks included, without a list", async () => {
    const { client, clock, stop, done } = start([list("5")]);
    await settle();
    client.watches[0]?.queue.push(event("BOOKMARK", "", "77"));
    await clock.advance(2_000);
    client.watches[0]?.queue.close();
    await settle();
    const [first, second] = client.watches.map(({ query }) => query as Record<string, unknown>);
    assert.equal(first?.["resourceVersion"], "5");
    assert.equal(second?.["resourceVersion"], "77");
    assert.equal(second?.["allowWatchBookmarks"], true);
    assert.equal(first?.["timeoutSeconds"], 300);
    assert.equal(client.requests.length, 1);
    stop.abort();
    await done;
    assert.equal(clock.sleeping, 0);
  });

  test("a connection that breaks after a second is resumed at once, one that breaks at once after a pause", async () => {
    const { client, clock, stop, done } = start([list("5")]);
    const cut = () => client.watches.at(-1)?.queue.fail(new LabError("CLUSTER_UNREACHABLE", "cut", ""));
    for (let count = 2; count < 8; count++) {
      await clock.advance(1_000);
      cut();
      await settle();
      assert.equal(client.watches.length, count);
    }
    cut();
    await clock.advance(799);
    assert.equal(client.watches.length, 7);
    await clock.advance(1);
    assert.equal(client.watches.length, 8);
    assert.equal(client.requests.length, 1);
    stop.abort();
    await done;
    assert.equal(clock.sleeping, 0);
  });

  test("410 in the stream starts again with a list", async () => {
    const { client, clock, stop, seen, done } = start([list("5", "a"), list("50", "b")]);
    await clock.advance(1_000);
    client.watches[0]?.queue.push({ type: "ERROR", object: GONE as never });
    await settle();
    assert.deepEqual(seen, ["init", "applied Node/a", "initDone", "init", "applied Node/b", "initDone"]);
    stop.abort();
    await done;
  });

  test("a server that answers 410 to each version gets requests after 0.8, 1.6 s", async () => {
    const { client, clock, stop, done } = start([]);
    const refuse = () => client.watches.at(-1)?.queue.push({ type: "ERROR", object: GONE as never });
    for (const [waitMs, lists] of [
      [800, 2],
      [1_600, 3],
    ] as const) {
      await settle();
      refuse();
      await clock.advance(waitMs - 1);
      assert.equal(client.requests.length, lists - 1);
      await clock.advance(1);
      assert.equal(client.requests.length, lists);
    }
    stop.abort();
    await done;
    assert.equal(clock.sleeping, 0);
  });

  test("an unreachable server is tried again after 0.8, 1.6, 3.2 s", async () => {
    const away = () => new LabError("CLUSTER_UNREACHABLE", "away", "");
    const { client, clock, stop, seen, done } = start([away(), away(), away(), list("5")]);
    await clock.advance(799);
    assert.equal(client.requests.length, 1);
    await clock.advance(1);
    assert.equal(client.requests.length, 2);
    await clock.advance(1_600);
    assert.equal(client.requests.length, 3);
    await clock.advance(3_200);
    assert.deepEqual(seen, ["init", "initDone"]);
    stop.abort();
    await done;
  });

  test("a watch that ends at once is restarted after a pause", async () => {
    const { client, clock, stop, done } = start([list("5")]);
    await settle();
    client.watches[0]?.queue.close();
    await settle(10);
    assert.equal(client.watches.length, 1);
    await clock.advance(800);
    assert.equal(client.watches.length, 2);
    stop.abort();
    await done;
  });

  test("watches that end after each event are resumed at once only the first time, then after 0.8, 1.6 s", async () => {
    const { client, clock, stop, done } = start([list("5")]);
    const end = async (version: number) => {
      const queue = client.watches.at(-1)?.queue;
      queue?.push(event("MODIFIED", "a", String(version)));
      queue?.close();
      await settle(10);
    };
    await settle();
    await end(6);
    assert.equal(client.watches.length, 2);
    await end(7);
    assert.equal(client.watches.length, 2);
    await clock.advance(800);
    assert.equal(client.watches.length, 3);
    await end(8);
    await clock.advance(1_599);
    assert.equal(client.watches.length, 3);
    await clock.advance(1);
    assert.equal(client.watches.length, 4);
    stop.abort();
    await done;
  });

  test("events and 410 in turn do not cause lists in a tight loop", async () => {
    const { client, clock, stop, done } = start([]);
    for (let i = 0; i < 50; i++) {
      await settle(5);
      const queue = client.watches.at(-1)?.queue;
      queue?.push(event("MODIFIED", "a", "6"));
      queue?.push({ type: "ERROR", object: GONE });
      queue?.close();
    }
    assert.equal(client.requests.length, 2);
    await clock.advance(10_000);
    stop.abort();
    await done;
  });

  test("a list that always names another page is given up, and requested again later", async () => {
    const page = list("5", "a").body as { metadata: object };
    const more = { status: 200, body: { ...page, metadata: { resourceVersion: "5", continue: "more" } } };
    const { client, clock, stop, seen, done } = start(Array.from({ length: 1_000 }, () => more));
    await settle();
    assert.equal(client.requests.length, 1_000);
    assert.deepEqual(seen, []);
    await clock.advance(800);
    assert.deepEqual(seen, ["init", "initDone"]);
    stop.abort();
    await done;
  });

  test("403 ends it", async () => {
    const { done } = start([{ status: 403, body: { kind: "Status", message: "no", reason: "Forbidden", code: 403 } }]);
    await assert.rejects(done, { code: "FORBIDDEN" });
  });

  test("a list in pages is one list", async () => {
    const page = list("5", "a").body as { metadata: object };
    const first = { status: 200, body: { ...page, metadata: { resourceVersion: "5", continue: "more" } } };
    const { client, stop, seen, done } = start([first, list("5", "b")]);
    await settle();
    assert.deepEqual(seen, ["init", "applied Node/a", "applied Node/b", "initDone"]);
    assert.equal(client.requests[1]?.query?.["continue"], "more");
    stop.abort();
    await done;
  });
});
