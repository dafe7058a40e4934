import { describe, expect, test } from "vitest";
import { PodCache } from "../../../src/kubelet/container/cache.js";
import { KubeRuntime } from "../../../src/kubelet/kuberuntime/kube-runtime.js";
import { EventedPleg } from "../../../src/kubelet/pleg/evented.js";
import type { PodLifecycleEvent } from "../../../src/kubelet/pleg/events.js";
import { GenericPleg } from "../../../src/kubelet/pleg/generic.js";
import { RpcError } from "../../../src/staging/cri/grpc/status.js";
import { ContainerEventResponse } from "../../../src/staging/cri/messages/container-calls.js";
import { ContainerEventType, PodSandboxState } from "../../../src/staging/cri/messages/enums.js";
import { Pleg } from "../../../src/testbed/pleg/pleg.js";
import { AsyncQueue } from "../../../src/util/async/async-queue.js";
import { FakeClock, START_MS, settle } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";

const CREATED = ContainerEventType.CONTAINER_CREATED_EVENT;
const STARTED = ContainerEventType.CONTAINER_STARTED_EVENT;
const STOPPED = ContainerEventType.CONTAINER_STOPPED_EVENT;
const DELETED = ContainerEventType.CONTAINER_DELETED_EVENT;

/** A runtime without pods whose stream a test feeds, ends and breaks. */
class StreamingRuntime {
  streams: AsyncQueue<ContainerEventResponse>[] = [];
  lists = 0;
  /** thrown instead of a stream */
  refusal: Error | undefined;

  async *getContainerEvents(signal: AbortSignal): AsyncGenerator<ContainerEventResponse> {
    if (this.refusal !== undefined) throw this.refusal;
    const queue = new AsyncQueue<ContainerEventResponse>();
    this.streams.push(queue);
    const onAbort = () => queue.close();
    signal.addEventListener("abort", onAbort, { once: true });
    yield* queue.iterate();
    signal.removeEventListener("abort", onAbort);
  }
  send(event: ContainerEventResponse): void {
    this.streams.at(-1)?.push(event);
  }
  async listPodSandbox() {
    this.lists++;
    return { outcome: "ok", value: [] } as const;
  }
  async listContainers() {
    return { outcome: "ok", value: [] } as const;
  }
  async podSandboxStatus(): Promise<never> {
    throw new Error("never asked");
  }
  async containerStatus(): Promise<never> {
    throw new Error("never asked");
  }
}

function setUp(capacity = 1000) {
  const clock = new FakeClock();
  const { trace, events: facts } = recordingTrace(clock);
  const service = new StreamingRuntime();
  const runtime = new KubeRuntime({ service });
  const cache = new PodCache({ isEvented: true });
  const events = new AsyncQueue<PodLifecycleEvent>(capacity);
  const generic = new GenericPleg(
    { runtime, clock, trace, cache, events },
    { relistPeriodMs: 300_000, relistThresholdMs: 600_000 },
  );
  const causes = new Map<string, string>();
  const fallback = { relistPeriodMs: 1000, relistThresholdMs: 180_000 };
  const evented = new EventedPleg(
    { service, runtime, cache, events, generic, clock, trace, causeOf: (id) => causes.get(id) },
    { kubeVersion: "1.26", fallback },
  );
  const stop = new AbortController();
  const told = () => events.takeAll().map(({ type, containerId }) => `${type} ${containerId}`);
  return { causes, clock, facts, service, cache, events, generic, evented, stop, told, done: evented.run(stop.signal) };
}

async function end({ stop, done, clock }: ReturnType<typeof setUp>): Promise<void> {
  stop.abort();
  await expect(done).rejects.toMatchObject({ name: "AbortError" });
  expect(clock.sleeping).toBe(0);
}

function event(type: number, containerId: string, { atMs = START_MS, ip = "10.0.0.1", state = 0 as number } = {}) {
  return ContainerEventResponse.create({
    containerId,
    containerEventType: type,
    createdAt: BigInt(atMs) * 1_000_000n,
    podSandboxStatus: {
      id: "s1",
      state,
      createdAt: 1n,
      metadata: { name: "web", uid: "u1", namespace: "default" },
      network: { ip },
    },
    containersStatuses: [
      {
        id: "c1",
        state: 1,
        metadata: { name: "app" },
        labels: { "io.kubernetes.container.name": "app" },
        createdAt: 1n,
        image: { image: "x" },
        imageRef: "x",
      },
    ],
  });
}

describe("events", () => {
  const table: readonly [string, number, string, string[], boolean][] = [
    ["created: only the cache has it", CREATED, "c1", [], true],
    ["started", STARTED, "c1", ["ContainerStarted c1"], true],
    ["stopped", STOPPED, "c1", ["ContainerDied c1"], true],
    ["deleted: died and removed, in this order", DELETED, "c1", ["ContainerDied c1", "ContainerRemoved c1"], false],
    ["of a sandbox are events like others", STARTED, "s1", ["ContainerStarted s1"], true],
    ["of tomorrow: only the cache has it", 99, "c1", [], true],
  ];
  for (const [name, type, id, want, isCached] of table) {
    test(name, async () => {
      const lab = setUp();
      await lab.clock.advance(0);
      lab.service.send(event(type, id));
      await lab.clock.advance(0);
      expect(lab.told()).toEqual(want);
      expect(lab.cache.get("u1").kind).toBe(isCached ? "cached" : "default");
      expect(lab.service.lists).toBe(0);
      await end(lab);
    });
  }

  test("of a container's death contain its exit code, as the generic PLEG's", async () => {
    const lab = setUp();
    await lab.clock.advance(0);
    const ways = [
      [137, "OOMKilled"],
      [1, "Error"],
      [7, ""],
    ] as const;
    for (const [exitCode, reason] of ways) {
      const died = event(STOPPED, "c1");
      const [status] = died.containersStatuses;
      lab.service.send({
        ...died,
        containersStatuses: status === undefined ? [] : [{ ...status, state: 2, exitCode, reason }],
      });
      await lab.clock.advance(0);
    }
    expect(only(lab.facts, "decision").map(({ why }) => why?.replace(/^.*; /, ""))).toEqual([
      "exit code 137 (OOMKilled)",
      "exit code 1 (Error)",
      "exit code 7",
    ]);
    await end(lab);
  });

  test("a deleted sandbox takes its pod out of the cache, a deleted container does not", async () => {
    const lab = setUp();
    await lab.clock.advance(0);
    lab.service.send(event(STARTED, "c1"));
    lab.service.send(event(DELETED, "c1"));
    await lab.clock.advance(0);
    expect(lab.cache.get("u1").kind).toBe("cached");
    lab.service.send(event(DELETED, "s1"));
    await lab.clock.advance(0);
    expect(lab.cache.get("u1").kind).toBe("default");
    await end(lab);
  });

  test("one that is older than what the cache has is not told", async () => {
    const lab = setUp();
    await lab.clock.advance(0);
    lab.service.send(event(STARTED, "c1", { atMs: START_MS + 10 }));
    lab.service.send(event(STOPPED, "c1", { atMs: START_MS + 9 }));
    await lab.clock.advance(0);
    expect(lab.told()).toEqual(["ContainerStarted c1"]);
    expect(lab.cache.get("u1").modifiedMs).toBe(START_MS + 10);
    await end(lab);
  });

  test("the addresses of a pod that has lost its network are kept", async () => {
    const lab = setUp();
    await lab.clock.advance(0);
    lab.service.send(event(STARTED, "c1"));
    lab.service.send(event(STOPPED, "s1", { ip: "", state: PodSandboxState.SANDBOX_NOTREADY }));
    await lab.clock.advance(0);
    expect(lab.cache.get("u1").status?.ips).toEqual(["10.0.0.1"]);
    await end(lab);
  });

  test("without a pod are ignored, and said", async () => {
    const lab = setUp();
    await lab.clock.advance(0);
    lab.service.send(ContainerEventResponse.create({ containerId: "c1", containerEventType: STOPPED }));
    await lab.clock.advance(0);
    expect([lab.told(), lab.evented.counts.received]).toEqual([[], 1]);
    expect(only(lab.facts, "error").map(({ message }) => message)).toEqual([
      expect.stringContaining("does not name its pod"),
    ]);
    await end(lab);
  });

  test("are lost if the channel is full, and PLEG is unhealthy until the channel is read", async () => {
    const lab = setUp(1);
    await lab.clock.advance(0);
    lab.service.send(event(DELETED, "c1"));
    await lab.clock.advance(0);
    expect(lab.evented.counts).toMatchObject({ sent: 1, discarded: 1 });
    expect(lab.evented.healthy()).toMatchObject({
      healthy: false,
      message: "EventedPLEG: pleg event channel capacity is full with 1 events",
    });
    lab.told();
    expect(lab.evented.healthy()).toEqual({ healthy: true });
    await end(lab);
  });
});

describe("the stream", () => {
  test("that breaks is opened again, after a relist for what may have been missed", async () => {
    const lab = setUp();
    await lab.clock.advance(0);
    lab.service.streams[0]?.fail(new RpcError("Unavailable", "restarting"));
    await lab.clock.advance(0);
    expect([lab.service.streams.length, lab.service.lists, lab.evented.hasFallenBack]).toEqual([2, 1, false]);
    lab.service.send(event(STARTED, "c1"));
    await lab.clock.advance(0);
    expect(lab.told()).toEqual(["ContainerStarted c1"]);
    await end(lab);
  });

  test("that the runtime ends counts as broken", async () => {
    const lab = setUp();
    await lab.clock.advance(0);
    lab.service.streams[0]?.close();
    await lab.clock.advance(0);
    expect(lab.evented.counts.streamFailures).toBe(1);
    await end(lab);
  });

  test("that cannot be had: after five attempts the generic PLEG relists every second", async () => {
    const lab = setUp();
    await lab.clock.advance(0);
    lab.service.refusal = new RpcError("Unimplemented", "unknown method GetContainerEvents");
    lab.service.streams[0]?.fail(lab.service.refusal);
    await lab.done;
    expect(lab.evented.counts.streamFailures).toBe(5);
    expect(lab.generic.duration).toEqual({ relistPeriodMs: 1000, relistThresholdMs: 180_000 });
    expect([lab.evented.hasFallenBack, lab.evented.isInUse, lab.clock.sleeping]).toEqual([true, false, 0]);
    const [decision] = only(lab.facts, "decision");
    expect(decision?.constants?.map(({ name }) => name)).toEqual(["eventedPlegMaxStreamRetries", "plegRelistPeriod"]);
  });
});

test("a wait for a status ends within the global cache update period", async () => {
  const lab = setUp();
  await lab.clock.advance(0);
  lab.service.send(event(STARTED, "c1"));
  await lab.clock.advance(0);
  let isReleased = false;
  void lab.cache.getNewerThan("u1", START_MS + 1).then(() => {
    isReleased = true;
  });
  await lab.clock.advance(4_999);
  expect(isReleased).toBe(false);
  await lab.clock.advance(1);
  expect(isReleased).toBe(true);
  await end(lab);
});

describe("PLEG as a whole", () => {
  function run(service: StreamingRuntime) {
    const clock = new FakeClock();
    const { trace, events: facts } = recordingTrace(clock);
    const pleg = new Pleg({ service, clock, trace }, { kubeVersion: "1.26", evented: true });
    const stop = new AbortController();
    return { clock, facts, pleg, stop, done: pleg.run(stop.signal) };
  }

  test("with events relists once in five minutes, and reads what the stream brings", async () => {
    const service = new StreamingRuntime();
    const { clock, pleg, stop, done } = run(service);
    await clock.advance(10_000);
    service.send(event(STARTED, "c1"));
    await clock.advance(289_000);
    expect(service.lists).toBe(1);
    await clock.advance(1_000);
    expect(service.lists).toBe(2);
    expect(pleg.summary).toMatchObject({ relists: 2, events: { ContainerStarted: 1 }, evented: { received: 1 } });
    stop.abort();
    await expect(done).rejects.toMatchObject({ name: "AbortError" });
    expect(clock.sleeping).toBe(0);
  });

  test("with events knows its pods by the cache: the last list may be minutes old", async () => {
    const service = new StreamingRuntime();
    const { clock, pleg, stop, done } = run(service);
    await clock.advance(0);
    expect(pleg.knownPods()).toEqual([]);
    service.send(event(STARTED, "c1"));
    await clock.advance(0);
    expect(pleg.knownPods()).toEqual([
      {
        podUid: "u1",
        name: "web",
        namespace: "default",
        createdAtMs: 1e-6,
        containers: [{ containerId: "c1", name: "app", state: "running" }],
        sandboxes: [{ containerId: "s1", state: "running" }],
      },
    ]);
    service.send(event(DELETED, "s1"));
    await clock.advance(0);
    expect([pleg.knownPods(), service.lists]).toEqual([[], 1]);
    stop.abort();
    await expect(done).rejects.toMatchObject({ name: "AbortError" });
  });

  test("without events behaves as the generic PLEG", async () => {
    const service = new StreamingRuntime();
    service.refusal = new RpcError("Unimplemented", "unknown method");
    const { clock, pleg, stop, done } = run(service);
    await clock.advance(10_000);
    expect(service.lists).toBeGreaterThanOrEqual(15);
    expect(pleg.healthy()).toEqual({ healthy: true });
    stop.abort();
    await expect(done).rejects.toMatchObject({ name: "AbortError" });
    expect(clock.sleeping).toBe(0);
  });
});

test("an event of the runtime is caused by the call that changed its container, and causes what it leads to", async () => {
  const lab = setUp();
  lab.causes.set("c1", "start1");
  await settle();
  lab.service.send(event(STARTED, "c1"));
  await settle();
  lab.service.send(event(STOPPED, "s1", { atMs: START_MS + 1, state: 1 }));
  await settle();
  const [started, stopped] = only(lab.facts, "decision");
  expect(started).toMatchObject({ causedBy: "start1", pod: "default/web" });
  expect(stopped).toMatchObject({ origin: "observed", pod: "default/web" });
  expect(lab.events.takeAll().map(({ scope }) => scope)).toMatchObject([
    { causedBy: started?.id, pod: "default/web" },
    { causedBy: stopped?.id, pod: "default/web" },
  ]);
  await end(lab);
});
