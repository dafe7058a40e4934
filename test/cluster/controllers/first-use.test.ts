import { describe, expect, test } from "vitest";
import { createFirstUseController } from "../../../src/cluster/controllers/first-use.js";
import { runControllers } from "../../../src/cluster/controllers/run-controllers.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { Trace } from "../../../src/trace/trace.js";
import { untilAborted } from "../../../src/util/async/concurrency.js";
import { FakeClock } from "../../support/fake-clock.js";
import { FakeCluster } from "./support/fake-cluster.js";
import { DEFINITIONS } from "./support/harness.js";

interface Options {
  readonly startsWith: readonly string[];
  readonly existing?: readonly string[];
  /** how often the load fails */
  readonly failures?: number;
}

async function waiting({ startsWith, existing = [], failures = 0 }: Options) {
  const clock = new FakeClock();
  const cluster = new FakeCluster(clock);
  const create = (resource: string) =>
    cluster.create(resource, { apiVersion: "v1", kind: "Any", metadata: { namespace: "default", name: "one" } });
  for (const resource of existing) create(resource);
  const trace = new Trace(clock);
  const facts: TraceEvent[] = [];
  trace.addSink({ write: (event) => facts.push(event) });
  let loads = 0;
  let isRunning = false;
  const load = async () => {
    if (++loads <= failures) throw new Error("the module cannot be read");
    const run = async (signal: AbortSignal) => {
      isRunning = true;
      await untilAborted(signal);
      isRunning = false;
    };
    return { name: "late", run };
  };
  const deps = { client: cluster.client(), trace, definitions: DEFINITIONS };
  const stop = new AbortController();
  const waitingFailures = new Map<string, string>();
  const late = createFirstUseController(deps, { name: "late", startsWith, load });
  const running = runControllers([late], { clock, trace }, stop.signal, waitingFailures);
  await clock.advance(0);
  return {
    clock,
    cluster,
    facts,
    failures: waitingFailures,
    create,
    state: () => `${loads} loads, ${isRunning ? "runs" : "waits"}`,
    async end() {
      stop.abort();
      await running;
      expect(clock.sleeping).toBe(0);
    },
  };
}

describe("a controller that starts when its kind is first used", () => {
  const table: readonly [title: string, options: Options, created: string, want: string][] = [
    ["is not loaded before", { startsWith: ["pods"] }, "", "0 loads, waits"],
    ["is not started by another kind", { startsWith: ["pods"] }, "secrets", "0 loads, waits"],
    ["is started by a new object", { startsWith: ["pods"] }, "pods", "1 loads, runs"],
    ["is started by the first of several kinds", { startsWith: ["pods", "secrets"] }, "secrets", "1 loads, runs"],
    ["is started by an object of before", { startsWith: ["pods"], existing: ["pods"] }, "", "1 loads, runs"],
    ["is started once", { startsWith: ["pods", "secrets"], existing: ["pods"] }, "secrets", "1 loads, runs"],
    [
      "waits for a kind that the release lacks",
      { startsWith: ["widgets"], existing: ["widgets"] },
      "",
      "0 loads, waits",
    ],
  ];
  for (const [title, options, created, want] of table) {
    test(title, async () => {
      const late = await waiting(options);
      if (created !== "") late.create(created);
      await late.clock.advance(0);
      expect(late.state()).toBe(want);
      await late.end();
      expect(late.state()).toContain("waits");
    });
  }

  test("says which object started it", async () => {
    const late = await waiting({ startsWith: ["pods"] });
    const { metadata } = late.create("pods");
    await late.clock.advance(0);
    expect(late.facts.find(({ kind }) => kind === "decision")).toMatchObject({
      what: "start the controller late",
      why: "the cluster has its first object of pods: default/one",
      causedBy: `${metadata.uid}@${metadata.resourceVersion}`,
    });
    await late.end();
  });

  test("is reported and loaded again when the load failed", async () => {
    const late = await waiting({ startsWith: ["pods"], existing: ["pods"], failures: 1 });
    expect([...late.failures]).toEqual([["late", "the module cannot be read"]]);
    await late.clock.advance(1000);
    expect([late.state(), late.failures.size]).toEqual(["2 loads, runs", 0]);
    await late.end();
  });

  test("starts its search again when a watch broke", async () => {
    const late = await waiting({ startsWith: ["pods", "secrets"] });
    late.cluster.breakWatches("pods", new Error("the connection broke"));
    await late.clock.advance(0);
    expect(late.failures.get("late")).toBe("the connection broke");
    await late.clock.advance(1000);
    late.create("secrets");
    await late.clock.advance(0);
    expect(late.state()).toBe("1 loads, runs");
    await late.end();
  });
});
