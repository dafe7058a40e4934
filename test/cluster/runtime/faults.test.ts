import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "vitest";
import { type RunningRuntime, startRuntime } from "../../../src/cluster/runtime/start.js";
import { openCriChannel } from "../../../src/staging/cri/client.js";
import { RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { SystemRandom } from "../../../src/util/random.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

let clock: FakeClock;
let runtime: RunningRuntime;
let cri: ReturnType<typeof openCriChannel>;
beforeEach(async () => {
  clock = new FakeClock();
  const { trace } = recordingTrace(clock);
  runtime = await startRuntime({ clock, random: new SystemRandom(), trace });
  cri = openCriChannel(runtime.endpoint, { clock, trace, actor: "kubelet" });
});
afterEach(async () => {
  await cri.close();
  await runtime.close();
});

const list = (timeoutMs?: number) => cri.call(RUNTIME_SERVICE.listContainers, {}, { timeoutMs });
const version = async () => (await cri.call(RUNTIME_SERVICE.version, {}, {})).outcome;

/** Waits until sent data has arrived: real sockets, no clock. */
async function arrive(): Promise<void> {
  for (let round = 0; round < 20; round++) await settle();
}

test("fail: returns the code and the text, `count` times", async () => {
  runtime.control.setFault("ListContainers", { fail: { code: "Internal", message: "disk on fire" }, count: 2 });
  for (let count = 0; count < 2; count++) {
    const result = await list();
    assert.equal(result.outcome === "ok" ? "" : result.text, "rpc error: code = Internal desc = disk on fire");
  }
  assert.equal((await list()).outcome, "ok");
  assert.equal(await version(), "ok");
});

test("delay: the call waits on the clock", async () => {
  assert.equal(await version(), "ok");
  runtime.control.setFault("ListContainers", { delayMs: 5_000 });
  let done = false;
  const result = list().finally(() => {
    done = true;
  });
  await arrive();
  await clock.advance(4_999);
  await arrive();
  assert.equal(done, false);
  await clock.advance(1);
  assert.equal((await result).outcome, "ok");
});

test("hang: until the caller's deadline, or until the fault is removed", async () => {
  assert.equal(await version(), "ok");
  runtime.control.setFault("ListContainers", { hangs: true });
  const impatient = list(2_000);
  await arrive();
  await clock.advance(2_000);
  assert.equal((await impatient).outcome, "timed-out");
  const patient = list();
  await arrive();
  runtime.control.clearFaults();
  assert.equal((await patient).outcome, "ok");
});

test("hang: a change to another call's fault does not end it", async () => {
  assert.equal(await version(), "ok");
  runtime.control.setFault("ListContainers", { hangs: true });
  let done = false;
  const hanging = list().finally(() => {
    done = true;
  });
  await arrive();
  runtime.control.setFault("Status", { hangs: true });
  runtime.control.setFault("Status", undefined);
  await arrive();
  assert.equal(done, false);
  runtime.control.setFault("ListContainers", undefined);
  assert.equal((await hanging).outcome, "ok");
});

test("* disturbs all calls, also streams; unknown rpcs are refused", async () => {
  runtime.control.setFault("*", { fail: { code: "Unavailable", message: "away" } });
  assert.equal(await version(), "unavailable");
  await assert.rejects(async () => {
    const stream = cri.stream(RUNTIME_SERVICE.getContainerEvents, {}, {});
    for await (const _event of stream) assert.fail("no event can come");
  }, /away/);
  assert.throws(() => runtime.control.setFault("NoSuchRpc", undefined), { code: "USAGE" });
});

const containers = async () => {
  const answer = await list();
  return answer.outcome === "ok" ? answer.value.containers.length : answer.text;
};
const POD = {
  name: "web",
  namespace: "default",
  uid: "u1",
  containers: [{ name: "main", image: "busybox", command: ["sleep", "1000000"] }],
};

test("wrong answers: empty, and stale until the fault is taken back", async () => {
  runtime.control.runPod(POD);
  assert.equal(await containers(), 1);
  runtime.control.setFault("ListContainers", { answer: "empty", count: 1 });
  assert.equal(await containers(), 0);
  assert.equal(await containers(), 1);
  runtime.control.setFault("ListContainers", { answer: "stale" });
  assert.equal(await containers(), 1);
  runtime.control.runPod({ ...POD, name: "other", uid: "u2" });
  assert.equal(await containers(), 1);
  runtime.control.setFault("ListContainers", undefined);
  assert.equal(await containers(), 2);
});

test("an empty answer to a call that acts: nothing is done", async () => {
  const { sandboxId } = runtime.control.runPod(POD);
  runtime.control.setFault("StopPodSandbox", { answer: "empty" });
  const stopped = await cri.call(RUNTIME_SERVICE.stopPodSandbox, { podSandboxId: sandboxId }, {});
  assert.equal(stopped.outcome, "ok");
  assert.equal(runtime.control.snapshot().sandboxes[0]?.state, "ready");
});

test("the runtime's process ends: running calls and events break, containers live on", async () => {
  runtime.control.runPod(POD);
  assert.equal(await version(), "ok");
  runtime.control.setFault("Status", { delayMs: 1_000_000 });
  const underWay = cri.call(RUNTIME_SERVICE.status, {}, {});
  const events = cri.stream(RUNTIME_SERVICE.getContainerEvents, {}, {})[Symbol.asyncIterator]();
  const next = events.next();
  await arrive();
  runtime.control.setDown(true);
  const broken = await underWay;
  assert.match(broken.outcome === "ok" ? "" : broken.text, /code = Unavailable desc = error reading from server: EOF/);
  assert.equal((await next).done, true);
  assert.match(String(await containers()), /code = Unavailable desc = connection error: .*connection refused/);
  await assert.rejects(async () => {
    for await (const _event of cri.stream(RUNTIME_SERVICE.getContainerEvents, {}, {})) assert.fail("no event can come");
  }, /connection refused/);
  runtime.control.setDown(false);
  assert.equal(await containers(), 1);
  assert.equal(runtime.control.snapshot().sandboxes[0]?.containers[0]?.state, "running");
});

test("a read-only disk: calls that write fail, others do not; a slow one delays them", async () => {
  const { sandboxId } = runtime.control.runPod(POD);
  const remove = () => cri.call(RUNTIME_SERVICE.removePodSandbox, { podSandboxId: sandboxId }, {});
  runtime.control.setDisk({ isReadonly: true });
  const refused = await remove();
  assert.match(refused.outcome === "ok" ? "" : refused.text, /code = Unknown desc = .*: read-only file system$/);
  assert.equal(await containers(), 1);
  runtime.control.setDisk({ delayMs: 5_000 });
  let isDone = false;
  const removing = remove().finally(() => {
    isDone = true;
  });
  await arrive();
  await clock.advance(4_999);
  await arrive();
  assert.equal(isDone, false);
  assert.equal(await containers(), 1);
  await clock.advance(1);
  assert.equal((await removing).outcome, "ok");
});

test("events come twice, `count` times", async () => {
  const events = cri.stream(RUNTIME_SERVICE.getContainerEvents, {}, {})[Symbol.asyncIterator]();
  const first = events.next();
  await arrive();
  runtime.control.repeatEvents(1);
  const { containerIds } = runtime.control.runPod(POD);
  const kinds: unknown[] = [(await first).value?.containerEventType];
  for (let i = 0; i < 4; i++) kinds.push((await events.next()).value?.containerEventType);
  const [id = ""] = containerIds;
  assert.ok(id !== "");
  // The sandbox's creation twice, then its start, and the container's two events once.
  assert.deepEqual(kinds, [0, 0, 1, 0, 1]);
});

test("closing the runtime ends hanging calls, and removes its socket", async () => {
  const { existsSync } = await import("node:fs");
  assert.equal(await version(), "ok");
  runtime.control.setFault("ListContainers", { hangs: true });
  const hanging = list();
  await arrive();
  const socket = runtime.endpoint.slice("unix://".length);
  assert.ok(existsSync(socket));
  await runtime.close();
  await runtime.close();
  assert.notEqual((await hanging).outcome, "ok");
  assert.ok(!existsSync(socket));
});
