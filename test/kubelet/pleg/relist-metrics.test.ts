import { expect, test } from "vitest";
import { KubeletMetrics } from "../../../src/kubelet/metrics/kubelet-metrics.js";
import type { PodLifecycleEvent } from "../../../src/kubelet/pleg/events.js";
import { GenericPleg } from "../../../src/kubelet/pleg/generic.js";
import { AsyncQueue } from "../../../src/util/async/async-queue.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";
import { parseMetrics, sampleOf } from "../../support/prometheus.js";
import { recordingTrace } from "../../support/trace.js";
import { FakeRuntime, podOf } from "./fake-runtime.js";

function setUp(capacity = 1000) {
  const clock = new FakeClock();
  const { trace } = recordingTrace(clock);
  const runtime = new FakeRuntime();
  const metrics = new KubeletMetrics({ nodeName: "n1", startMs: clock.now() });
  const events = new AsyncQueue<PodLifecycleEvent>(capacity);
  const pleg = new GenericPleg(
    { runtime, clock, trace, events, metrics },
    { relistPeriodMs: 1000, relistThresholdMs: 180_000 },
  );
  const { signal } = new AbortController();
  /** A relist whose list takes this long. */
  const relist = async (takesMs = 0) => {
    runtime.held = clock.sleep(takesMs, signal);
    const done = pleg.relist(signal);
    await clock.advance(takesMs);
    await done;
  };
  const read = async (name: string, labels = {}) =>
    sampleOf(parseMetrics(await metrics.text()), `kubelet_${name}`, labels);
  return { clock, runtime, relist, read };
}

test("a relist counts by its duration, and by the time since the last one that listed", async () => {
  const { clock, relist, read } = setUp();
  await relist(300);
  expect(await read("pleg_relist_duration_seconds_count")).toBe(1);
  expect(await read("pleg_relist_duration_seconds_sum")).toBeCloseTo(0.3);
  expect(await read("pleg_relist_interval_seconds_count")).toBe(0);
  await clock.advance(1000);
  await relist(100);
  expect(await read("pleg_relist_duration_seconds_sum")).toBeCloseTo(0.4);
  expect(await read("pleg_relist_interval_seconds_sum")).toBeCloseTo(1.3);
  expect(await read("pleg_last_seen_seconds")).toBe(Math.floor((START_MS + 1300) / 1000));
});

test("a relist that fails has a duration, but was not seen", async () => {
  const { clock, runtime, relist, read } = setUp();
  await relist();
  await clock.advance(5000);
  runtime.listError = new Error("the runtime is down");
  await relist(2000);
  expect(await read("pleg_relist_duration_seconds_sum")).toBeCloseTo(2);
  expect(await read("pleg_relist_interval_seconds_sum")).toBeCloseTo(5);
  expect(await read("pleg_last_seen_seconds")).toBe(Math.floor(START_MS / 1000));
});

test("pods run by their sandboxes, containers count by their states", async () => {
  const { runtime, relist, read } = setUp();
  runtime.pods = [podOf("a"), podOf("b", "exited"), podOf("c", "exited", "exited")];
  await relist();
  expect(await read("running_pods")).toBe(2);
  expect(await read("running_containers", { container_state: "running" })).toBe(1);
  expect(await read("running_containers", { container_state: "exited" })).toBe(2);
  expect(await read("running_containers", { container_state: "created" })).toBe(undefined);
});

test("events that do not fit in the channel are discarded", async () => {
  const { runtime, relist, read } = setUp(3);
  runtime.pods = [podOf("a"), podOf("b"), podOf("c")];
  await relist();
  expect(await read("pleg_discard_events")).toBe(3);
});
