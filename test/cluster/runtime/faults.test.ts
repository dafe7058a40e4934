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
