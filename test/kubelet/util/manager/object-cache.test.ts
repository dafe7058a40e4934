import assert from "node:assert/strict";
import { afterEach, describe, test } from "vitest";
import { MAX_IDLE_TIME_MS, ObjectCache, SYNC_TIMEOUT_MS } from "../../../../src/kubelet/util/manager/object-cache.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { LabError } from "../../../../src/util/errors.js";
import { FakeClock, FakeRandom, settle } from "../../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../../support/memory-client.js";
import { only, recordingTrace } from "../../../support/trace.js";

const SIGNAL = new AbortController().signal;

function configMap(a: string, resourceVersion: string, more: object = {}): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x", resourceVersion }, data: { a }, ...more };
}
function listOf(...items: KubeObject[]): MemoryAnswer {
  const metadata = { resourceVersion: items[0]?.metadata.resourceVersion ?? "1" };
  return { status: 200, body: { apiVersion: "v1", kind: "ConfigMapList", metadata, items } };
}
const expired = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: "Expired", code: 410 };
const AWAY = new LabError("CLUSTER_UNREACHABLE", "nobody answers", "wait");
const FORBIDDEN: MemoryAnswer = { status: 403, body: { kind: "Status", message: 'configmaps "x" is forbidden' } };

/** The cache of ConfigMaps, an API server with canned answers, and a stopped clock. */
class CacheLab {
  readonly clock = new FakeClock();
  readonly told = recordingTrace(this.clock);
  answer: MemoryAnswer | Error = listOf(configMap("1", "5"));
  readonly client = new MemoryClient(() => this.answer);
  readonly cache = new ObjectCache(
    { client: this.client, clock: this.clock, random: new FakeRandom(0), trace: this.told.trace },
    "configmap",
  );

  get watch() {
    const watch = this.client.watches.at(-1);
    assert.ok(watch);
    return watch;
  }

  /** The value under `a`, or how it failed. Time passes only for who has to wait. */
  async read(passMs = 0): Promise<string> {
    const pending = this.cache.get("ns", "x", SIGNAL);
    if (passMs > 0) await this.clock.advance(passMs);
    const result = await pending;
    return result.outcome === "ok" ? (result.object["data"] as { a: string }).a : result.message;
  }

  /** What was told, in order, as `what from -> to`. */
  get states(): string[] {
    return only(this.told.events, "state").map(({ what, from = "", to }) => `${what} ${from} -> ${to}`);
  }
}

const TIMED_OUT = "failed to sync configmap cache: timed out waiting for the condition";

describe("objects are watched", () => {
  let lab = new CacheLab();
  afterEach(async () => {
    await lab.cache.close();
    assert.equal(lab.clock.sleeping, 0, "nothing is left behind");
    lab = new CacheLab();
  });

  test("one list and one watch of one name, however many pods name it and however often they ask", async () => {
    for (let i = 0; i < 110; i++) lab.cache.addReference("ns", "x");
    assert.deepEqual(await Promise.all(Array.from({ length: 110 }, () => lab.read())), Array(110).fill("1"));
    await settle();
    const path = "/api/v1/namespaces/ns/configmaps";
    assert.deepEqual(
      lab.client.requests.map(({ path, query }) => [path, query?.["fieldSelector"]]),
      [[path, "metadata.name=x"]],
    );
    assert.deepEqual(
      lab.client.watches.map(({ path, query }) => [path, (query as { fieldSelector: string }).fieldSelector]),
      [[path, "metadata.name=x"]],
    );
    await lab.clock.advance(120_000);
    assert.equal(await lab.read(), "1");
    assert.equal(lab.client.requests.length, 1, "nothing is asked for by the time");
  });

  test("a change is seen as soon as the watch tells of it, and told; so is a deletion, and its return", async () => {
    lab.cache.addReference("ns", "x");
    assert.equal(await lab.read(), "1");
    await settle();
    const steps = [
      ["MODIFIED", configMap("2", "6"), "2"],
      ["DELETED", configMap("2", "7"), 'configmap "x" not found'],
      ["ADDED", configMap("3", "8"), "3"],
    ] as const;
    for (const [type, object, want] of steps) {
      lab.watch.queue.push({ type, object });
      await settle();
      assert.equal(await lab.read(), want);
    }
    assert.deepEqual(lab.states, ["watch  -> started", "version 5 -> 6", "version 6 -> none", "version none -> 8"]);
    assert.equal(lab.client.requests.length, 1);
    const level = (what: string) => only(lab.told.events, "state").find((event) => event.what === what)?.level;
    assert.deepEqual([level("watch"), level("version")], [2, 1]);
  });

  const firstAnswers: readonly (readonly [string, MemoryAnswer | Error, waitMs: number, want: string])[] = [
    ["it is there", listOf(configMap("1", "5")), 0, "1"],
    ["it is not there", listOf(), 0, 'configmap "x" not found'],
    ["another is listed", listOf({ ...configMap("1", "5"), metadata: { name: "y" } }), 0, 'configmap "x" not found'],
    ["forbidden", FORBIDDEN, SYNC_TIMEOUT_MS, TIMED_OUT],
    ["no answer", AWAY, SYNC_TIMEOUT_MS, TIMED_OUT],
    ["an answer that is no list", { status: 200, body: {} }, SYNC_TIMEOUT_MS, TIMED_OUT],
  ];
  for (const [name, answer, waitMs, want] of firstAnswers) {
    test(`the first list: ${name}`, async () => {
      lab.answer = answer;
      lab.cache.addReference("ns", "x");
      assert.equal(await lab.read(waitMs), want);
    });
  }

  test("an unexpected error ends the watch, and is reported; the next read starts a new watch", async () => {
    lab.answer = new TypeError("a bug");
    lab.cache.addReference("ns", "x");
    assert.equal(await lab.read(SYNC_TIMEOUT_MS), TIMED_OUT);
    await lab.clock.advance(60_000);
    assert.equal(lab.client.requests.length, 1);
    assert.match(only(lab.told.events, "error")[0]?.message ?? "", /^TypeError: .*\n +at /);
    lab.answer = listOf(configMap("1", "5"));
    assert.equal(await lab.read(), "1");
  });

  test("who waits for the first list gets it as soon as it is there", async () => {
    lab.answer = AWAY;
    lab.cache.addReference("ns", "x");
    const pending = Promise.all([lab.read(), lab.read()]);
    await lab.clock.advance(799);
    lab.answer = listOf(configMap("1", "5"));
    await lab.clock.advance(1);
    assert.deepEqual(await pending, ["1", "1"]);
  });

  test("a clock that runs faster than the wall leaves the API server its second", async () => {
    Object.assign(lab.clock, { speed: 20 });
    lab.answer = AWAY;
    lab.cache.addReference("ns", "x");
    const pending = lab.read();
    await lab.clock.advance(SYNC_TIMEOUT_MS);
    lab.answer = listOf(configMap("1", "5"));
    await lab.clock.advance(1_400);
    assert.equal(await pending, "1");
  });

  test("a refusal is reported once, and retried after 0.8, 1.6, 3.2 s: the right may be granted late", async () => {
    lab.answer = FORBIDDEN;
    lab.cache.addReference("ns", "x");
    assert.equal(await lab.read(SYNC_TIMEOUT_MS), TIMED_OUT);
    assert.equal(lab.client.requests.length, 2);
    await lab.clock.advance(800 + 1_600 - SYNC_TIMEOUT_MS);
    assert.equal(lab.client.requests.length, 3);
    lab.answer = listOf(configMap("1", "5"));
    await lab.clock.advance(3_200);
    assert.equal(await lab.read(), "1");
    const errors = only(lab.told.events, "error").map(({ message }) => message);
    assert.deepEqual(errors, ['GET /api/v1/namespaces/ns/configmaps was refused: 403 configmaps "x" is forbidden']);
  });

  test("what was read is served while the API server is away, and what changed meanwhile is seen afterwards", async () => {
    lab.cache.addReference("ns", "x");
    await settle();
    lab.answer = AWAY;
    lab.watch.queue.fail(AWAY);
    await lab.clock.advance(60_000);
    assert.equal(await lab.read(), "1");
    lab.watch.queue.push({ type: "ERROR", object: expired as never });
    await lab.clock.advance(60_000);
    assert.equal(await lab.read(), "1");
    lab.answer = listOf(configMap("2", "50"));
    await lab.clock.advance(60_000);
    assert.equal(await lab.read(), "2");
    assert.deepEqual(lab.states.slice(1), ["version 5 -> 50"]);
  });

  test("watches that end at once are restarted with growing delays", async () => {
    lab.cache.addReference("ns", "x");
    for (let i = 0; i < 60; i++) {
      await lab.clock.advance(900);
      lab.watch.queue.fail(AWAY);
    }
    assert.ok(lab.client.watches.length <= 8, `${lab.client.watches.length} watches in a minute`);
    assert.equal(lab.client.requests.length, 1);
  });

  test("what no pod names any more is neither kept nor watched", async () => {
    lab.cache.addReference("ns", "x");
    lab.cache.addReference("ns", "x");
    await settle();
    lab.cache.deleteReference("ns", "x");
    assert.deepEqual([lab.cache.size, lab.cache.watches], [1, 1]);
    lab.cache.deleteReference("ns", "x");
    lab.cache.deleteReference("ns", "never-named");
    await settle();
    assert.deepEqual([lab.cache.size, lab.cache.watches], [0, 0]);
    assert.deepEqual(lab.states, ["watch  -> started", "watch  -> stopped"]);
    assert.equal(await lab.read(), 'object "ns"/"x" not registered');
  });

  test("named again at once it is listed again: two watches never overlap", async () => {
    lab.cache.addReference("ns", "x");
    await settle();
    lab.cache.deleteReference("ns", "x");
    lab.answer = listOf(configMap("2", "6"));
    lab.cache.addReference("ns", "x");
    assert.equal(await lab.read(), "2");
  });

  test("the watch of an immutable object ends with its first read; the object stays", async () => {
    lab.answer = listOf(configMap("1", "5", { immutable: true }));
    lab.cache.addReference("ns", "x");
    assert.equal(await lab.read(), "1");
    assert.equal(lab.cache.watches, 0);
    await settle();
    lab.answer = AWAY;
    assert.equal(await lab.read(), "1");
    assert.equal(lab.client.requests.length, 1);
    assert.deepEqual(
      only(lab.told.events, "decision").map(({ what, why }) => `${what}: ${why}`),
      ["stop watching configmap ns/x: it is immutable"],
    );
  });

  test("the watch of an object ends after five minutes without a read; the next read starts a new one", async () => {
    const stop = new AbortController();
    const recycling = assert.rejects(lab.cache.recycleIdleWatches(stop.signal), { name: "AbortError" });
    lab.cache.addReference("ns", "x");
    assert.equal(await lab.read(), "1");
    await lab.clock.advance(MAX_IDLE_TIME_MS);
    assert.equal(lab.cache.watches, 1);
    assert.equal(await lab.read(), "1");
    await lab.clock.advance(MAX_IDLE_TIME_MS);
    assert.equal(lab.cache.watches, 1, "asked for within the time");
    await lab.clock.advance(60_000);
    assert.equal(lab.cache.watches, 0);
    lab.answer = listOf(configMap("2", "6"));
    assert.equal(await lab.read(), "2");
    assert.equal(lab.cache.watches, 1);
    stop.abort();
    await recycling;
  });

  test("a list that is still awaited is not idle", async () => {
    const stop = new AbortController();
    const recycling = assert.rejects(lab.cache.recycleIdleWatches(stop.signal), { name: "AbortError" });
    lab.answer = AWAY;
    lab.cache.addReference("ns", "x");
    await lab.clock.advance(2 * MAX_IDLE_TIME_MS);
    assert.equal(lab.cache.watches, 1);
    stop.abort();
    await recycling;
  });

  test("who gives up gets the signal's reason, at once", async () => {
    lab.answer = AWAY;
    lab.cache.addReference("ns", "x");
    const reason = new Error("enough");
    await assert.rejects(lab.cache.get("ns", "x", AbortSignal.abort(reason)), reason);
    const stop = new AbortController();
    const pending = assert.rejects(lab.cache.get("ns", "x", stop.signal), reason);
    stop.abort(reason);
    await pending;
  });

  test("closed, nothing begins any more", async () => {
    lab.cache.addReference("ns", "x");
    await settle();
    await lab.cache.close();
    await lab.cache.close();
    lab.cache.addReference("ns", "y");
    assert.equal(await lab.read(SYNC_TIMEOUT_MS), TIMED_OUT);
    assert.equal(lab.cache.watches, 0);
    assert.equal(lab.client.requests.length, 1);
  });

  test("a name that holds what selectors are made of selects nothing else", async () => {
    lab.cache.addReference("ns", "a=b,metadata.name=c\\");
    await settle();
    assert.equal(lab.client.requests[0]?.query?.["fieldSelector"], "metadata.name=a\\=b\\,metadata.name\\=c\\\\");
  });
});
