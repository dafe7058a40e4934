import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { KubeObject } from "../../../src/apimachinery/api/meta.js";
import { nodeConfiguration } from "../../../src/testbed/kubelet-config.js";
import { DEFAULT_STAGES } from "../../../src/testbed/simulated/default-stages.js";
import { SimulatedNode } from "../../../src/testbed/simulated/node.js";
import { parseStages } from "../../../src/testbed/simulated/parse-stages.js";
import { SimulatedPods } from "../../../src/testbed/simulated/pods.js";
import { Trace } from "../../../src/trace/trace.js";
import { FakeClock, FakeRandom, settle } from "../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../support/memory-client.js";
import { stagePod } from "./support.js";

let clock: FakeClock;
let client: MemoryClient;
let answers: MemoryAnswer[];
let stop: AbortController;
let ended: Promise<void>;

async function start(more = "[]"): Promise<void> {
  clock = new FakeClock();
  answers = [];
  stop = new AbortController();
  client = new MemoryClient(({ method }) =>
    method === "GET"
      ? { status: 200, body: { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [] } }
      : (answers.shift() ?? { status: 200, body: {} }),
  );
  const deps = { client, clock, random: new FakeRandom(0.5), trace: new Trace(clock) };
  const config = nodeConfiguration("1.25");
  const node = new SimulatedNode(deps, { name: "node-1", index: 300, labels: {}, kubeVersion: "1.25", config });
  const stages = [...parseStages(more, "s.yaml"), ...parseStages(DEFAULT_STAGES, "built-in")];
  ended = new SimulatedPods(deps, new Map([["node-1", node]]), stages).run(stop.signal);
  await settle(10);
}

beforeEach(() => start());
afterEach(async () => {
  stop.abort();
  await ended;
  expect(clock.sleeping).toBe(0);
});

const send = async (type: "ADDED" | "MODIFIED" | "DELETED", object: KubeObject) => {
  client.watches[0]?.queue.push({ type, object });
  await settle(10);
};
// biome-ignore lint/suspicious/noExplicitAny: tests read bodies of any shape
const writes = (): any[] => client.requests.filter(({ method }) => method !== "GET");

describe("the life of a pod", () => {
  test("it is Running after the delay and the jitter, with an address of its node's range", async () => {
    await send("ADDED", stagePod({}));
    await clock.advance(749);
    expect(writes()).toEqual([]);
    await clock.advance(1);
    const [{ path, body }] = writes();
    expect(path).toBe("/api/v1/namespaces/default/pods/p/status");
    expect(body.metadata).toEqual({ uid: "u1" });
    expect(body.status).toMatchObject({
      phase: "Running",
      hostIP: "10.192.1.45",
      podIP: "10.129.44.2",
      startTime: "2026-01-01T00:00:00Z",
      containerStatuses: [{ name: "c", ready: true, state: { running: { startedAt: "2026-01-01T00:00:00Z" } } }],
    });
    const conditions = body.status.conditions.map(
      ({ type, status }: { type: string; status: string }) => type + status,
    );
    expect(conditions).toEqual(["InitializedTrue", "ReadyTrue", "ContainersReadyTrue", "PodScheduledTrue"]);
  });

  test("a Job's pod succeeds", async () => {
    await send("ADDED", stagePod({ phase: "Running", restartPolicy: "Never" }));
    await clock.advance(7_500);
    const [{ body }] = writes();
    expect(body.status.phase).toBe("Succeeded");
    expect(body.status.containerStatuses[0].state.terminated).toMatchObject({ exitCode: 0, reason: "Completed" });
  });

  test("a deleted pod goes at once, and only the same pod", async () => {
    await send("ADDED", stagePod({}));
    await send("MODIFIED", stagePod({ deletionTimestamp: "2026-01-01T00:00:30Z" }));
    await clock.advance(750);
    const [{ method, body }, ...more] = writes();
    expect([method, body.gracePeriodSeconds, body.preconditions, more]).toEqual(["DELETE", 0, { uid: "u1" }, []]);
  });

  test("a pod that is gone before its stage is due gets no write", async () => {
    await send("ADDED", stagePod({}));
    await send("DELETED", stagePod({}));
    await clock.advance(10_000);
    expect(writes()).toEqual([]);
  });

  test("changes that leave the stage do not begin its delay again", async () => {
    await send("ADDED", stagePod({}));
    await clock.advance(700);
    await send("MODIFIED", stagePod({ labels: { a: "b" } }));
    await clock.advance(50);
    expect(writes().length).toBe(1);
    await clock.advance(10_000);
    expect(writes().length).toBe(1);
  });

  test("a refused write is tried again after a second, a missing pod is not", async () => {
    answers = [
      { status: 500, body: {} },
      { status: 404, body: {} },
    ];
    await send("ADDED", stagePod({}));
    await clock.advance(750);
    expect(writes().length).toBe(1);
    await clock.advance(1_000);
    expect(writes().length).toBe(2);
    await clock.advance(10_000);
    expect(writes().length).toBe(2);
  });

  test("pods of other nodes are left alone", async () => {
    const pod = stagePod({});
    await send("ADDED", { ...pod, spec: { ...pod.spec, nodeName: "other" } });
    await clock.advance(10_000);
    expect(writes()).toEqual([]);
  });

  test("pods of the host's network have the node's address", async () => {
    await send("ADDED", stagePod({ hostNetwork: true }));
    await clock.advance(750);
    expect(writes()[0].body.status.podIP).toBe("10.192.1.45");
  });
});

describe("stages of a file come before the built-in ones", () => {
  for (const [what, next, want] of [
    ["an empty next keeps the pod as it is", "{}", undefined],
    [
      "a phase",
      "{phase: Failed}",
      { phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 1 } } }] },
    ],
    ["a condition over the phase's own", "{phase: Running, conditions: {Ready: 'False'}}", { phase: "Running" }],
    ["a condition alone", "{conditions: {example.com/gate: 'True'}}", { phase: "Pending" }],
  ] as const) {
    test(what, async () => {
      stop.abort();
      await ended;
      await start(`- {name: own, match: {phase: Pending, labels: {app: x}}, next: ${next}}`);
      await send("ADDED", stagePod({ labels: { app: "x" } }));
      await clock.advance(10_000);
      const [write] = writes();
      if (want === undefined) return expect(write).toBe(undefined);
      expect(write.body.status).toMatchObject(want);
      for (const [, type = "", value = ""] of next.matchAll(/([\w./]+): '(\w+)'/g)) {
        const found = write.body.status.conditions.filter((one: { type: string }) => one.type === type);
        expect(found).toMatchObject([{ type, status: value }]);
      }
    });
  }
});
