import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { NodeObject } from "../../../src/staging/apimachinery/api/node.js";
import type { LeaseObject, PodObject } from "../../../src/staging/apimachinery/api/objects.js";
import { StatusError, statusError } from "../../../src/staging/apimachinery/errors.js";
import type { LocalClient } from "../../../src/staging/client-go/dynamic/interface.js";
import { parseStages } from "../../../src/testbed/simulated/parse-stages.js";
import { startSimulatedNodes } from "../../../src/testbed/simulated/start.js";
import { Trace } from "../../../src/trace/trace.js";
import { type StoreHarness, startOnStore } from "../../cluster/controllers/support/on-store.js";
import { FakeRandom } from "../../support/fake-clock.js";
import { stagePod } from "./support.js";

let on: StoreHarness;
let simulation: AsyncDisposable;
/** errors for the next writes of a pod's status */
let refusals: StatusError[];

const LEASES = "leases.coordination.k8s.io";

async function start(stages = "[]", specs = [{ name: "node-1", labels: {} }]): Promise<void> {
  const { clock, admin } = on;
  refusals = [];
  const loopback = (): LocalClient => ({
    ...admin,
    async modify(...args) {
      const refusal = args[0] === "pods" ? refusals.shift() : undefined;
      if (refusal !== undefined) throw refusal;
      return admin.modify(...args);
    },
  });
  const ctx = { clock, random: new FakeRandom(0.5), trace: new Trace(clock) };
  const options = { kubeVersion: "1.25", specs, stages: parseStages(stages, "s.yaml") };
  simulation = await startSimulatedNodes(ctx, { loopback }, options, new AbortController().signal);
  await clock.advance(0);
}

beforeEach(async () => {
  on = await startOnStore();
});
afterEach(async () => {
  await simulation[Symbol.asyncDispose]();
  await on[Symbol.asyncDispose]();
  expect(on.clock.sleeping).toBe(0);
});

const pod = (name = "p") => on.admin.get<PodObject>("pods", "default", name);
const addPod = (shape: Parameters<typeof stagePod>[0] = {}) => on.create("pods", stagePod(shape));
const versionOf = async () => (await pod())?.metadata.resourceVersion;

describe("the life of a pod", () => {
  beforeEach(() => start());

  test("it is Running after the delay and the jitter, with an address of its node's range", async () => {
    await addPod();
    await on.clock.advance(749);
    expect((await pod())?.status?.phase).toBe("Pending");
    await on.clock.advance(1);
    const { status } = (await pod()) ?? {};
    expect(status).toMatchObject({
      phase: "Running",
      hostIP: "10.192.0.1",
      podIP: "10.128.0.2",
      containerStatuses: [{ name: "c", ready: true, state: { running: {} } }],
    });
    const conditions = status?.conditions?.map(({ type, status: value }) => type + value);
    expect(conditions).toEqual(expect.arrayContaining(["InitializedTrue", "ReadyTrue", "ContainersReadyTrue"]));
  });

  test("a Job's pod succeeds", async () => {
    await addPod({ restartPolicy: "Never" });
    await on.clock.advance(750 + 7_500);
    expect((await pod())?.status).toMatchObject({
      phase: "Succeeded",
      containerStatuses: [{ state: { terminated: { exitCode: 0, reason: "Completed" } } }],
    });
  });

  test("a deleted pod goes after the delay", async () => {
    await addPod();
    await on.clock.advance(1_000);
    await on.admin.delete("pods", "default", "p");
    await on.clock.advance(749);
    expect((await pod())?.metadata.deletionTimestamp).toBeDefined();
    await on.clock.advance(1);
    expect(await pod()).toBe(undefined);
  });

  test("another pod of the same name begins its life anew, with the address that is free again", async () => {
    await addPod();
    await on.clock.advance(500);
    await on.admin.delete("pods", "default", "p", { gracePeriodSeconds: 0 });
    await addPod();
    await on.clock.advance(749);
    expect((await pod())?.status?.phase).toBe("Pending");
    await on.clock.advance(1);
    expect((await pod())?.status).toMatchObject({ phase: "Running", podIP: "10.128.0.2" });
  });

  test("changes that leave the stage do not begin its delay again", async () => {
    await addPod();
    await on.clock.advance(700);
    const labeled = (one: PodObject) => ({ ...one, metadata: { ...one.metadata, labels: { a: "b" } } });
    await on.admin.modify<PodObject>("pods", "default", "p", labeled);
    await on.clock.advance(50);
    expect((await pod())?.status?.phase).toBe("Running");
    const version = await versionOf();
    await on.clock.advance(10_000);
    expect(await versionOf()).toBe(version);
  });

  test("a refused write is tried again after a second, and after two", async () => {
    refusals = [1, 2].map(() => new StatusError(statusError(500, "InternalError", "no").status));
    await addPod();
    await on.clock.advance(750 + 1_000 + 1_999);
    expect((await pod())?.status?.phase).toBe("Pending");
    await on.clock.advance(1);
    expect((await pod())?.status?.phase).toBe("Running");
  });

  test("pods of other nodes are left alone", async () => {
    await addPod({ nodeName: "other" });
    await on.clock.advance(10_000);
    expect((await pod())?.status?.phase).toBe("Pending");
  });

  test("pods of the host's network have the node's address", async () => {
    await addPod({ hostNetwork: true });
    await on.clock.advance(750);
    expect((await pod())?.status?.podIP).toBe("10.192.0.1");
  });

  test("a pod keeps its address when the process continues with the cluster", async () => {
    await addPod({ name: "a" });
    await addPod({ name: "b" });
    await on.clock.advance(1_000);
    await on.admin.delete("pods", "default", "a", { gracePeriodSeconds: 0 });
    await simulation[Symbol.asyncDispose]();
    await start();
    await addPod({ name: "c" });
    await on.clock.advance(1_000);
    expect([(await pod("b"))?.status?.podIP, (await pod("c"))?.status?.podIP]).toEqual(["10.128.0.3", "10.128.0.2"]);
  });
});

describe("stages of a file come before the built-in ones", () => {
  for (const [what, next, want] of [
    ["an empty next keeps the pod as it is", "{}", { phase: "Pending" }],
    [
      "a phase",
      "{phase: Failed}",
      { phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 1 } } }] },
    ],
    [
      "a condition over the phase's own",
      "{phase: Running, conditions: {Ready: 'False'}}",
      {
        phase: "Running",
        conditions: expect.arrayContaining([expect.objectContaining({ type: "Ready", status: "False" })]),
      },
    ],
    [
      "a condition alone",
      "{conditions: {example.com/gate: 'True'}}",
      {
        phase: "Pending",
        conditions: expect.arrayContaining([expect.objectContaining({ type: "example.com/gate", status: "True" })]),
      },
    ],
  ] as const) {
    test(what, async () => {
      await start(`- {name: own, match: {phase: Pending, labels: {app: x}}, next: ${next}}`);
      await addPod({ labels: { app: "x" } });
      await on.clock.advance(10_000);
      expect((await pod())?.status).toMatchObject(want);
    });
  }
});

describe("nodes", () => {
  const node = (name = "node-1") => on.admin.get<NodeObject>("nodes", undefined, name);
  const renewTime = async () => (await on.admin.get<LeaseObject>(LEASES, "kube-node-lease", "node-1"))?.spec?.renewTime;
  const ready = async () => (await node())?.status?.conditions?.find(({ type }) => type === "Ready");

  test("they stay Ready: Leases are renewed every 10 s, statuses reported every 5 minutes", async () => {
    await start();
    expect((await node())?.spec).toMatchObject({ podCIDR: "10.128.0.0/24", podCIDRs: ["10.128.0.0/24"] });
    const [first, firstReport] = [await renewTime(), (await ready())?.lastHeartbeatTime];
    expect(first).toBe("2026-01-01T00:00:00.000000Z");
    // The first renewal comes after a part of the interval, the others after the interval and a jitter of at most 4 %.
    await on.clock.advance(5_000);
    expect(await renewTime()).toBe("2026-01-01T00:00:05.000000Z");
    await on.clock.advance(10_200);
    expect(await renewTime()).toBe("2026-01-01T00:00:15.200000Z");
    await on.clock.advance(300_000);
    expect((await ready())?.status).toBe("True");
    expect((await ready())?.lastHeartbeatTime).not.toBe(firstReport);
  });

  test("a node of an earlier process is Ready again at once, with the same Node", async () => {
    await start();
    const { uid } = (await node())?.metadata ?? {};
    await simulation[Symbol.asyncDispose]();
    await on.clock.advance(120_000);
    expect((await ready())?.status).toBe("Unknown");
    await start();
    await on.clock.advance(0);
    expect([(await node())?.metadata.uid, (await ready())?.status]).toEqual([uid, "True"]);
  });

  test("a deleted Node stays away, and one that is created again is Ready", async () => {
    await start();
    await on.admin.delete("nodes", undefined, "node-1");
    await on.clock.advance(60_000);
    expect([await node(), await renewTime()]).toEqual([undefined, undefined]);
    await on.create("nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } });
    await on.clock.advance(0);
    expect((await ready())?.status).toBe("True");
    expect(await renewTime()).toBeDefined();
  });

  test("Nodes of others are left alone", async () => {
    await start();
    await on.create("nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "other" } });
    await on.clock.advance(30_000);
    expect((await node("other"))?.status?.conditions?.some(({ status }) => status === "True")).not.toBe(true);
  });

  test("names, labels and addresses are each node's own, and the number of registered nodes is reported", async () => {
    await start("[]", [
      { name: "node-1", labels: {} },
      { name: "node-301", labels: { zone: "b" } as Record<string, string> },
    ] as never);
    const second = await node("node-301");
    expect(second?.metadata.labels).toMatchObject({ zone: "b", "kubelab/simulated": "true" });
    expect(second?.spec?.["podCIDR"]).toBe("10.129.44.0/24");
    expect(second?.status?.addresses).toContainEqual({ type: "InternalIP", address: "10.192.1.45" });
  });
});
