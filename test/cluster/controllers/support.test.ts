import { expect, test } from "vitest";
import { controllerChecks } from "../../../src/cluster/control-plane/components.js";
import type { Controller } from "../../../src/cluster/controllers/controller.js";
import { CidrSet } from "../../../src/cluster/controllers/node/nodeipam.js";
import { RateLimitedQueue } from "../../../src/cluster/controllers/node/nodelifecycle/rate-limited-queue.js";
import { evictionRate, zoneState } from "../../../src/cluster/controllers/node/nodelifecycle/zones.js";
import { boundaryStep } from "../../../src/cluster/controllers/node/ttl.js";
import { runControllers } from "../../../src/cluster/controllers/run-controllers.js";
import { ControllerRecorder } from "../../../src/cluster/controllers/support/event-recorder.js";
import { retryReporter } from "../../../src/cluster/controllers/support/shared-deps.js";
import type { NodeCondition, Taint } from "../../../src/staging/apimachinery/api/node.js";
import type { Toleration } from "../../../src/staging/apimachinery/api/objects.js";
import { matchingTolerations, minTolerationSeconds } from "../../../src/staging/apimachinery/corev1/tolerations.js";
import { SharedReflectors } from "../../../src/staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../../src/staging/client-go/workqueue.js";
import { runCheck } from "../../../src/staging/server/healthz.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { Trace } from "../../../src/trace/trace.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { FakeCluster } from "./support/fake-cluster.js";

const unreachable: Taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
const forSeconds = (tolerationSeconds?: number): Toleration => ({
  key: unreachable.key,
  operator: "Exists",
  effect: "NoExecute",
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});

for (const [name, tolerations, want] of [
  ["no toleration", [], "now"],
  ["another effect", [{ ...forSeconds(), effect: "NoSchedule" }], "now"],
  ["another value", [{ key: unreachable.key, operator: "Equal", value: "x" }], "now"],
  ["300 s", [forSeconds(300)], 300],
  ["a negative time", [forSeconds(-5)], 0],
  ["for ever", [forSeconds()], undefined],
  ["everything", [{ operator: "Exists" }], undefined],
  ["the first match counts", [forSeconds(20), forSeconds(300)], 20],
] as [string, Toleration[], unknown][]) {
  test(`tolerations: ${name}`, () => {
    const used = matchingTolerations([unreachable], tolerations);
    expect(used === undefined ? "now" : minTolerationSeconds(used)).toBe(want);
  });
}

const ready = (...statuses: string[]) => statuses.map((status) => ({ type: "Ready", status }) as NodeCondition);

for (const [statuses, want] of [
  [["True"], "Normal"],
  [["Unknown"], "FullDisruption"],
  [["Unknown", "True"], "Normal"],
  [["Unknown", "False", "True"], "Normal"], // two nodes are not enough for a partial disruption
  [["Unknown", "False", "Unknown", "True"], "PartialDisruption"],
  [["Unknown", "False", "Unknown", "True", "True", "True"], "Normal"],
] as const) {
  test(`a zone with Ready ${statuses.join(", ")} is in state ${want}`, () => {
    expect(zoneState(ready(...statuses), 0.55)).toBe(want);
  });
}

test("a partial disruption stops evictions in a small zone, and slows them down in a large one", () => {
  const rates = { normal: 0.1, secondary: 0.01, largeClusterThreshold: 50 };
  expect([50, 51].map((count) => evictionRate("PartialDisruption", count, rates))).toEqual([0, 0.01]);
  expect(evictionRate("FullDisruption", 3, rates)).toBe(0.1);
});

test("the eviction queue releases one node every 10 s, each once", () => {
  const queue = new RateLimitedQueue(0.1);
  for (const name of ["a", "b"]) expect(queue.add(name, 0)).toBe(true);
  expect(queue.add("a", 0)).toBe(false);
  expect(queue.take(0)?.nodeName).toBe("a");
  queue.settle("a");
  expect([queue.take(0), queue.nextMs()]).toEqual([undefined, 10_000]);
  expect(queue.take(10_000)?.nodeName).toBe("b");
  queue.settle("b");
  expect(queue.add("a", 10_000)).toBe(false); // until it is removed
  queue.remove("a");
  queue.swapLimiter(0, 10_000);
  expect([queue.add("a", 10_000), queue.nextMs(), queue.take(99_000)]).toEqual([true, undefined, undefined]);
});

test("pod CIDRs are allocated in order, and a released one is reused last", () => {
  const cidrs = new CidrSet("10.244.0.0/22", 24);
  cidrs.occupy("10.244.1.0/24");
  expect([cidrs.allocate(), cidrs.allocate()]).toEqual(["10.244.0.0/24", "10.244.2.0/24"]);
  cidrs.release("10.244.0.0/24");
  expect([cidrs.allocate(), cidrs.allocate(), cidrs.allocate()]).toEqual(["10.244.3.0/24", "10.244.0.0/24", undefined]);
});

for (const [from, count, want] of [
  [0, 100, 0],
  [0, 101, 1],
  [1, 90, 1],
  [1, 89, 0],
] as const) {
  test(`ttl: ${count} nodes, coming from row ${from}, use row ${want}`, () =>
    expect(boundaryStep(from, count)).toBe(want));
}

test("work queue: a key runs with the cause of who made it ready, also if another one waits", async () => {
  const clock = new FakeClock(0);
  const trace = new Trace(clock);
  trace.addSink({ write: () => undefined });
  const queue = new WorkQueue(clock);
  const stop = new AbortController();
  const causes: string[] = [];
  const running = queue.run(
    async (key) => {
      causes.push(`${key} ${trace.cause}`);
      if (causes.length === 1) throw new Error("tried again");
    },
    () => undefined,
    stop.signal,
  );
  trace.because({ causedBy: "1" }, () => queue.add("failing"));
  trace.because({ causedBy: "2" }, () => queue.addAfter("delayed", 100));
  trace.because({ causedBy: "3" }, () => queue.add("delayed"));
  trace.because({ causedBy: "4" }, () => queue.add("delayed"));
  await clock.advance(100);
  expect(causes).toEqual(["failing 1", "delayed 3", "failing 1", "delayed 2"]);
  stop.abort();
  await expect(running).rejects.toThrow();
});

test("work queue: keys become ready in order of their times, however often they were cancelled and added again", async () => {
  const clock = new FakeClock(0);
  const queue = new WorkQueue(clock);
  const stop = new AbortController();
  const handled: string[] = [];
  const handle = async (key: string) => void handled.push(`${clock.now()} ${key}`);
  const running = queue.run(handle, () => undefined, stop.signal);
  queue.addAfter("b", 20);
  queue.addAfter("a", 10);
  queue.addAfter("b2", 20);
  for (let i = 0; i < 1_000; i++) {
    queue.cancel("again");
    queue.addAfter("again", 30 + (i % 7));
  }
  clock.jump(25);
  queue.add("now");
  await clock.advance(100);
  // 999 % 7 is 5.
  expect(handled).toEqual(["25 now", "25 a", "25 b", "25 b2", "35 again"]);
  stop.abort();
  await expect(running).rejects.toBe(stop.signal.reason);
  expect(clock.sleeping).toBe(0);
});

test("work queue: once per key, again if added meanwhile, retried at 5, 10, 20 ms, no timer left", async () => {
  const clock = new FakeClock(0);
  const queue = new WorkQueue(clock);
  const stop = new AbortController();
  const handled: string[] = [];
  let failuresLeft = 3;
  const running = queue.run(
    async (key) => {
      handled.push(`${clock.now()} ${key}`);
      if (key === "again" && handled.length === 1) queue.add("again");
      if (key === "bad" && failuresLeft-- > 0) throw new Error("no");
    },
    () => undefined,
    stop.signal,
  );
  queue.add("again");
  queue.add("again");
  queue.addAfter("later", 50);
  queue.addAfter("later", 100); // the earlier time wins
  queue.addAfter("cancelled", 10);
  queue.cancel("cancelled");
  await clock.advance(0);
  queue.add("bad");
  await clock.advance(200);
  expect(handled).toEqual(["0 again", "0 again", "0 bad", "5 bad", "15 bad", "35 bad", "50 later"]);
  stop.abort();
  await expect(running).rejects.toBe(stop.signal.reason);
  expect(clock.sleeping).toBe(0);
});

test("shared reflectors: one watch for all readers; a late reader starts with the existing objects", async () => {
  const clock = new FakeClock();
  const cluster = new FakeCluster(clock);
  cluster.create("configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "x" } });
  const reflectors = new SharedReflectors(cluster.client(), new Trace(clock));
  const stop = new AbortController();
  const seen: string[][] = [[], []];
  const read = async (reader: number) => {
    for await (const item of reflectors.of("configmaps").changes(stop.signal)) {
      seen[reader]?.push(item.type === "initDone" ? item.type : `${item.type} ${item.object.metadata.name}`);
    }
  };
  const first = read(0);
  await settle();
  cluster.create("configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b", namespace: "x" } });
  await settle();
  const second = read(1);
  await settle();
  cluster.delete("configmaps", "x", "a");
  await settle();
  expect(seen).toEqual([
    ["init a", "initDone", "applied b", "deleted a"],
    ["init a", "init b", "initDone", "deleted a"],
  ]);
  expect(cluster.watchCount).toBe(1);
  stop.abort();
  await Promise.all([first, second]);
  await reflectors.close();
});

test("a failed controller is reported and restarted, on the injected clock, and the others keep running", async () => {
  const clock = new FakeClock(0);
  const trace = new Trace(clock);
  const facts: TraceEvent[] = [];
  trace.addSink({ write: (event) => facts.push(event) });
  const starts: string[] = [];
  const waiting = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  const controllers: Controller[] = [
    {
      name: "flaky",
      run: async (signal) => {
        starts.push(`${clock.now()} flaky`);
        if (starts.length < 4) throw new Error("boom");
        await waiting(signal);
      },
    },
    { name: "steady", run: (signal) => waiting(signal) },
  ];
  const stop = new AbortController();
  const failures = new Map<string, string>();
  const checks = controllerChecks(() => ({ names: ["flaky", "steady"], failures }));
  const running = runControllers(controllers, { clock, trace }, stop.signal, failures);
  await clock.advance(500);
  expect(await Promise.all(checks.map(runCheck))).toEqual([
    { isHealthy: false, text: "internal server error: flaky: boom\n" },
    { isHealthy: false, text: "internal server error: not running\n" },
  ]);
  await clock.advance(9_500);
  expect(failures.size).toBe(0);
  expect(starts).toEqual(["0 flaky", "1000 flaky", "3000 flaky", "7000 flaky"]);
  expect(facts.map((fact) => (fact.kind === "error" ? `${fact.message}; ${fact.hint}` : ""))).toEqual([
    "controller flaky failed: boom; it starts again in 1 s",
    "controller flaky failed: boom; it starts again in 2 s",
    "controller flaky failed: boom; it starts again in 4 s",
  ]);
  stop.abort();
  await running;
  expect(clock.sleeping).toBe(0);
});

test("a broken watch restarts every controller that reads it, with a fresh list", async () => {
  const clock = new FakeClock();
  const cluster = new FakeCluster(clock);
  const reflectors = new SharedReflectors(cluster.client(), new Trace(clock));
  const trace = new Trace(clock);
  const seen: string[] = [];
  const reader: Controller = {
    name: "reader",
    async run(signal) {
      for await (const item of reflectors.of("nodes").changes(signal)) {
        seen.push(item.type === "initDone" ? item.type : `${item.type} ${item.object.metadata.name}`);
      }
    },
  };
  const stop = new AbortController();
  const running = runControllers([reader], { clock, trace }, stop.signal);
  await clock.advance(0);
  cluster.breakWatches("nodes", new Error("gone"));
  await clock.advance(0);
  cluster.create("nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n" } });
  await clock.advance(2_000);
  expect(seen).toEqual(["initDone", "init n", "initDone"]);
  stop.abort();
  await Promise.all([running, reflectors.close()]);
});

function recorderOn(kubeVersion: string) {
  const clock = new FakeClock();
  const cluster = new FakeCluster(clock);
  const trace = new Trace(clock);
  const facts: TraceEvent[] = [];
  trace.addSink({ write: (event) => facts.push(event) });
  const recorder = new ControllerRecorder({ client: cluster.client(), clock, trace, kubeVersion }, "node-controller");
  return { clock, cluster, facts, recorder };
}

const NODE = { apiVersion: "v1", kind: "Node", name: "n", uid: "u" } as const;

test("recorder: a repeated event increments the count of the first", async () => {
  const { clock, cluster, facts, recorder } = recorderOn("1.25");
  recorder.event(NODE, "Normal", "NodeNotReady", "Node n status is now: NodeNotReady");
  await recorder.flush();
  await clock.advance(61_000);
  recorder.event(NODE, "Normal", "NodeNotReady", "Node n status is now: NodeNotReady");
  await recorder.flush();
  const events = cluster.list("events");
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({
    involvedObject: NODE,
    count: 2,
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:01:01Z",
    source: { component: "node-controller" },
    reportingComponent: "",
    metadata: { namespace: "default", name: expect.stringMatching(/^n\.[0-9a-f]{16}$/) },
  });
  expect(facts.map(({ kind }) => kind)).toEqual(["event", "event"]);
});

test("recorder: an expired event is created again with its count", async () => {
  const { cluster, recorder } = recorderOn("1.28");
  recorder.event(NODE, "Normal", "A", "m");
  await recorder.flush();
  cluster.delete("events", "default", cluster.list("events")[0]?.metadata.name ?? "");
  recorder.event(NODE, "Normal", "A", "m");
  await recorder.flush();
  expect(cluster.list("events")).toMatchObject([{ count: 2, reportingComponent: "node-controller" }]);
});

test("recorder: the tenth similar message makes one combined event, and an object's 26th event is dropped", async () => {
  const { clock, cluster, recorder } = recorderOn("1.25");
  for (let i = 1; i <= 30; i++) recorder.event(NODE, "Warning", "Failed", `try ${i}`);
  await recorder.flush();
  const combined = cluster.list("events").filter(({ message }) => String(message).startsWith("(combined"));
  expect(cluster.list("events")).toHaveLength(10);
  expect(combined).toMatchObject([{ count: 16, message: "(combined from similar events): try 25" }]);
  await clock.advance(300_000); // the next one is allowed
  for (const message of ["x", "y"]) recorder.event(NODE, "Normal", "Other", message);
  await recorder.flush();
  expect(cluster.list("events").filter(({ reason }) => reason === "Other")).toHaveLength(1);
});

test("recorder: a failed write is reported, and the next one works", async () => {
  const { cluster, facts, recorder } = recorderOn("1.25");
  cluster.failing.set("create events", new Error("full"));
  recorder.event(NODE, "Normal", "A", "m");
  await recorder.flush();
  cluster.failing.clear();
  recorder.event(NODE, "Normal", "B", "m");
  await recorder.flush();
  expect(cluster.list("events").map(({ reason }) => reason)).toEqual(["B"]);
  expect(facts.find(({ kind }) => kind === "error")).toMatchObject({ message: "event A was not written: full" });
});

test("a failure that repeats is reported once, another one of the same key again", () => {
  const trace = new Trace(new FakeClock());
  const shown: string[] = [];
  trace.addSink({ write: (event) => void (event.level === 0 && event.kind === "error" && shown.push(event.message)) });
  const report = retryReporter({ trace }, "rc");
  const rows: readonly (readonly [key: string, message: string, failures: number])[] = [
    ["a", "quota", 0],
    ["a", "quota", 1],
    ["b", "quota", 0],
    ["a", "quota", 2],
    ["a", "other", 3],
    ["a", "quota", 4],
    ["a", "quota", 0],
  ];
  for (const [key, message, failures] of rows) report(key, new Error(message), failures);
  expect(shown).toEqual(["rc: a: quota", "rc: b: quota", "rc: a: other", "rc: a: quota", "rc: a: quota"]);
});

test("the work queue says how often a key has failed before", async () => {
  const clock = new FakeClock();
  const queue = new WorkQueue(clock);
  const seen: number[] = [];
  const stop = new AbortController();
  const running = queue.run(
    async () => Promise.reject(new Error("no")),
    (_key, _error, failures) => seen.push(failures),
    stop.signal,
  );
  queue.add("a");
  await clock.advance(16);
  stop.abort();
  await expect(running).rejects.toThrow();
  expect(seen).toEqual([0, 1, 2]);
});
