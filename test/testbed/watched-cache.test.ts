import assert from "node:assert/strict";
import { test } from "vitest";
import { PodCache } from "../../src/kubelet/container/cache.js";
import { WatchedCache } from "../../src/testbed/watched-cache.js";
import { FakeClock, settle } from "../support/fake-clock.js";
import { only, recordingTrace } from "../support/trace.js";

const STATUS = { podUid: "u1", name: "p", namespace: "a", ips: [], containerStatuses: [], sandboxStatuses: [] };

function setUp(isHolding: boolean) {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock);
  const inner = new PodCache();
  const cache = new WatchedCache({ inner, clock, trace, podName: () => "a/p" }, { isHolding });
  const told = () => only(events, "state").map(({ subject, to }) => `${subject} ${to}`);
  return { clock, inner, cache, told, now: clock.now() };
}

test("a cached status is returned at once, without a fact", async () => {
  const { inner, cache, told, now } = setUp(false);
  inner.set("u1", STATUS, undefined, now);
  assert.equal((await cache.getNewerThan("u1", now - 1)).status, STATUS);
  assert.deepEqual([told(), cache.held], [[], []]);
});

test("a wait is reported with its duration", async () => {
  const { clock, inner, cache, told, now } = setUp(false);
  const waiting = cache.getNewerThan("u1", now);
  await clock.advance(750);
  inner.set("u1", STATUS, undefined, clock.now());
  await waiting;
  assert.deepEqual(told(), [
    "worker of a/p waits for a status newer than 00:00:00.000",
    "worker of a/p goes on after 750 ms: the cache has a newer status",
  ]);
});

test("held, a worker waits though the status is there; released, it gets the newest", async () => {
  const { clock, inner, cache, told } = setUp(true);
  inner.set("u1", { ...STATUS, ips: ["10.0.0.1"] }, undefined, clock.now());
  let isOver = false;
  const waiting = cache.getNewerThan("u1", Number.NEGATIVE_INFINITY).finally(() => {
    isOver = true;
  });
  await settle();
  assert.deepEqual([isOver, cache.held], [false, ["u1"]]);
  inner.set("u1", STATUS, undefined, clock.now());
  assert.deepEqual([cache.release("u2"), cache.release("u1"), cache.release("u1")], [false, true, false]);
  assert.equal((await waiting).status, STATUS);
  assert.deepEqual(told(), ["worker of a/p is held before GetNewerThan(anything)", "worker of a/p released by hand"]);
});

test("the end of the kubelet ends a held wait", async () => {
  const { cache } = setUp(true);
  const stop = new AbortController();
  const waiting = assert.rejects(cache.getNewerThan("u1", 0, stop.signal), { name: "AbortError" });
  await settle();
  stop.abort();
  await waiting;
  assert.deepEqual(cache.held, []);
});
