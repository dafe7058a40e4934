import { expect, onTestFinished, test } from "vitest";
import { RemotePodReader } from "../../../src/kubelet/kuberuntime/remote-pod-reader.js";
import { createCriClient } from "../../../src/staging/cri/remote/create-cri-client.js";
import type { CriHandlers } from "../../../src/staging/cri/server.js";
import { Pleg } from "../../../src/testbed/pleg/pleg.js";
import {
  emptyMessages,
  listedContainer,
  never,
  refuse,
  startHostileRuntime,
} from "../../staging/cri/hostile-runtime.js";
import { FakeClock, untilTrue } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

/** `kubelab pleg` on a hostile runtime. */
async function observe(hostile: CriHandlers["runtime"], { evented = false } = {}) {
  const { endpoint, calls } = await startHostileRuntime(hostile);
  const clock = new FakeClock();
  const { trace, events: facts } = recordingTrace(clock);
  const signal = new AbortController().signal;
  const client = await createCriClient(endpoint, { clock, trace, actor: "kubelet" }, {}, signal);
  onTestFinished(() => client.close());
  const service = new RemotePodReader(client.runtime);
  const pleg = new Pleg({ service, clock, trace }, { kubeVersion: "1.26", evented });
  const stop = new AbortController();
  const done = pleg.run(stop.signal);
  done.catch(() => {}); // asserted by end()
  const end = async () => {
    stop.abort();
    await expect(done).rejects.toMatchObject({ name: "AbortError" });
    await client.close();
    expect(clock.sleeping).toBe(0);
  };
  return { pleg, clock, facts, calls, end };
}

test("a list of a million empty containers is refused before it fills the memory", async () => {
  const { pleg, end } = await observe({ listContainers: () => emptyMessages(1_000_001) });
  await untilTrue(() => pleg.summary.failedRelists > 0);
  expect(pleg.healthy()).toMatchObject({ cause: expect.stringContaining("more than 1000000 nested messages") });
  await end();
});

test("thousands of containers with one pod's labels and one ID: a few calls at a time, and the end comes at once", async () => {
  const containers = Array.from({ length: 5_000 }, () => listedContainer("same", "u0"));
  const lab = await observe({ listContainers: () => ({ containers }), containerStatus: never }, { evented: true });
  await untilTrue(() => lab.calls("containerStatus") >= 16);
  await lab.end();
  expect(lab.calls("containerStatus")).toBe(16);
});

test("a pod with thousands of containers: all are compared, the first hundred are reported", async () => {
  const containers = Array.from({ length: 1_100 }, (_, i) => listedContainer(`c${i}`, "u0"));
  const lab = await observe({ listContainers: () => ({ containers }) });
  await untilTrue(() => (lab.pleg.summary.events.ContainerStarted ?? 0) >= 1_000);
  await lab.end();
  expect(lab.pleg.summary.discardedEvents).toBe(1_101 - 1_000);
  expect(lab.facts.filter((fact) => fact.kind === "decision" && fact.what.startsWith("ContainerStarted"))).toHaveLength(
    100,
  );
  expect(lab.facts).toContainEqual(expect.objectContaining({ text: "and 1001 more changes of default/u0" }));
});

test("inspections that always fail are tried again with each relist, not more often", async () => {
  const lab = await observe({ containerStatus: refuse });
  // The second relist inspects the pod twice: because it has changed, and because its inspection failed. As upstream.
  for (const inspections of [1, 3, 5, 7]) {
    await untilTrue(() => lab.pleg.summary.inspections === inspections);
    await lab.clock.advance(999);
    expect(lab.pleg.summary.inspections).toBe(inspections);
    await lab.clock.advance(1);
  }
  await lab.end();
  expect(lab.pleg.healthy()).toEqual({ healthy: true });
});

test("a runtime that never answers its lists is the cause, also after the end", async () => {
  const lab = await observe({ listPodSandbox: never, listContainers: never });
  await untilTrue(() => lab.calls("listContainers") === 1);
  await lab.clock.advance(3000);
  await lab.end();
  const cause = "the container runtime's: it was asked to list its pods 3s ago and has not answered";
  expect(lab.pleg.healthy()).toMatchObject({ cause });
});

test("a stream of events that ends at once is opened five times, and then no more", async () => {
  const lab = await observe({ async *getContainerEvents() {} }, { evented: true });
  await untilTrue(() => lab.pleg.evented?.hasFallenBack === true);
  await lab.clock.advance(10_000);
  await lab.end();
  expect(lab.calls("getContainerEvents")).toBe(5);
});

test("events of ever new pods do not grow the cache without bound", async () => {
  const flood = async function* () {
    for (let i = 0; i < 10_100; i++) {
      const podSandboxStatus = {
        id: `s${i}`,
        metadata: { name: "p", uid: `p${i}`, namespace: "default" },
        createdAt: 1n,
      };
      yield { containerId: `c${i}`, containerEventType: 0, createdAt: 1n, podSandboxStatus };
    }
    await never();
  };
  const lab = await observe({ getContainerEvents: flood }, { evented: true });
  await untilTrue(() => lab.pleg.evented?.counts.received === 10_100);
  await lab.end();
  expect(lab.pleg.cache.size).toBeLessThanOrEqual(10_001);
  expect(lab.facts.filter((fact) => fact.kind === "error")).toHaveLength(1);
});
