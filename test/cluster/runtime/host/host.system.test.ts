import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, test } from "vitest";
import { type HostedRuntime, type HostOptions, hostRuntime } from "../../../../src/cluster/runtime/host/host.js";
import type { RuntimeChange } from "../../../../src/cluster/runtime/state/changes.js";
import { RpcError } from "../../../../src/staging/cri/grpc/status.js";
import { createCriClient } from "../../../../src/staging/cri/remote/create-cri-client.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { type Level, Trace } from "../../../../src/trace/trace.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { LabError } from "../../../../src/util/errors.js";
import { OffsetClock } from "../../../../src/util/offset-clock.js";
import { isAlive } from "../../../../src/util/os/processes.js";

const POD = {
  name: "web",
  namespace: "default",
  uid: "u1",
  containers: [{ name: "c", image: "busybox", command: ["sleep", "3600"] }],
};
const signal = new AbortController().signal;

const closing: HostedRuntime[] = [];
afterEach(async () => {
  for (const one of closing.splice(0)) await one.close();
});

async function start(options: Partial<HostOptions> & { readonly level?: Level; readonly speed?: number } = {}) {
  const { level = 4, speed = 1, ...rest } = options;
  const clock = new SystemClock(speed);
  const events: TraceEvent[] = [];
  const listeners = new Set<() => void>();
  const trace = new Trace(clock);
  trace.addSink({
    level,
    write: (event) => {
      events.push(event);
      for (const listener of [...listeners]) listener();
    },
  });
  const runtime = await hostRuntime({ clock, trace, pullMs: 0, ...rest });
  closing.push(runtime);
  const fact = (test: (event: TraceEvent) => boolean) =>
    new Promise<TraceEvent>((resolve) => {
      const look = () => {
        const found = events.find(test);
        if (found === undefined) return;
        listeners.delete(look);
        resolve(found);
      };
      listeners.add(look);
      look();
    });
  const connect = () =>
    createCriClient(runtime.endpoint, { clock, trace: new Trace(clock), actor: "kubelet" }, {}, signal);
  return { runtime, clock, trace, events, fact, connect };
}

test("a machine whose clock is wrong: the other process has that time, and its timers are told in the right one", async () => {
  const hourMs = 3_600_000;
  const right = new SystemClock();
  right.pause();
  const clock = new OffsetClock(right, -hourMs);
  const runtime = await hostRuntime({ clock, trace: new Trace(right), pullMs: 0 });
  closing.push(runtime);
  right.advanceTo(right.now() + hourMs);
  const { containerIds } = await runtime.control.runPod(POD);
  await using cri = await createCriClient(
    runtime.endpoint,
    { clock, trace: new Trace(clock), actor: "kubelet" },
    {},
    signal,
  );
  const status = await cri.runtime.containerStatus(containerIds[0] ?? "", false, signal);
  assert.equal(status.outcome === "ok" && Number((status.value.status?.createdAt ?? 0n) / 1_000_000n), clock.now());
  const [follower] = right.followers;
  const due = (await follower?.settle())?.timers.map(({ dueMs }) => dueMs - right.now()) ?? [];
  assert.ok(due.includes(3_600_000), `sleep 3600 ends in an hour: ${due}`);
});

test("the control changes the other process, and the CRI shows it", async () => {
  const { runtime, connect } = await start({ seed: 1 });
  const made = await runtime.control.runPod(POD);
  await using cri = await connect();
  const listed = await cri.runtime.listContainers({}, signal);
  assert.ok(listed.outcome === "ok");
  assert.deepEqual(
    listed.value.map(({ id }) => id),
    made.containerIds,
  );
  await runtime.control.killContainer(made.containerIds[0] ?? "", { oom: true });
  const { sandboxes } = await runtime.control.snapshot();
  assert.deepEqual(
    sandboxes.flatMap(({ containers }) => containers).map(({ state, reason }) => [state, reason]),
    [["exited", "OOMKilled"]],
  );
});

test("errors keep their class, code and hint", async () => {
  const { runtime } = await start();
  await assert.rejects(
    async () => runtime.control.startContainer("none"),
    (error) => {
      return error instanceof RpcError && error.code === "NotFound";
    },
  );
  await assert.rejects(
    async () => runtime.control.setFault("NoSuchCall", {}),
    (error) => {
      return error instanceof LabError && error.code === "USAGE" && error.hint !== "";
    },
  );
  await assert.rejects(start({ streamingAddress: "0.0.0.0:0" }), { code: "USAGE" });
  await assert.rejects(start({ rootDir: "/proc/none" }), { code: "BAD_FILE" });
});

const levels: readonly (readonly [Level, readonly string[]])[] = [
  [2, ["ready", "created", "running"]],
  [1, []],
];
for (const [level, want] of levels) {
  test(`a trace of level ${level} gets the runtime's facts of level 2 before the call returns: ${want.length > 0}`, async () => {
    const { runtime, events } = await start({ level, traceLevel: 2, images: ["busybox"] });
    await runtime.control.runPod(POD);
    const states = events.flatMap((event) => (event.kind === "state" && event.actor === "runtime" ? [event.to] : []));
    assert.deepEqual(states, want);
  });
}

test("changes are watched", async () => {
  const { runtime } = await start();
  const changes = runtime.control.changes(signal);
  const first = changes.next();
  await runtime.control.runPod(POD);
  const { value } = (await first) as { readonly value: RuntimeChange };
  assert.deepEqual([value.kind, value.to], ["sandbox", "ready"]);
  await changes.return(undefined);
});

test("the process follows the clock's speed", async () => {
  const { clock, connect } = await start({ pullMs: 86_400_000 });
  await using cri = await connect();
  const pull = cri.images.pullImage({ image: "nginx" }, undefined, undefined, signal);
  clock.setSpeed(10_000_000);
  assert.equal((await pull).outcome, "ok");
});

test("a process that is killed is reported, and starts again at its endpoint without containers", async () => {
  const { runtime, fact, connect } = await start({ speed: 20 });
  await runtime.control.runPod(POD);
  const { pid = 0 } = runtime;
  process.kill(pid, "SIGKILL");
  const lost = await fact(({ kind }) => kind === "error");
  assert.match((lost as { readonly message: string }).message, /^the container runtime was killed \(SIGKILL\)/);
  await assert.rejects(async () => runtime.control.snapshot(), { code: "Unavailable" });
  await fact((event) => event.kind === "state" && event.what === "process");
  assert.notEqual(runtime.pid, pid);
  await using cri = await connect();
  const { sandboxes } = await runtime.control.snapshot();
  assert.deepEqual([sandboxes, cri.version.runtimeName !== ""], [[], true]);
});

test("close ends a process that does not answer, and removes its folder", async () => {
  const { runtime } = await start();
  const folder = join(runtime.endpoint.slice("unix://".length), "..");
  const { pid = 0 } = runtime;
  process.kill(pid, "SIGSTOP");
  await runtime.close();
  assert.deepEqual([await isAlive(pid), existsSync(folder)], [false, false]);
});
