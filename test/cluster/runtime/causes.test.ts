import assert from "node:assert/strict";
import { test } from "vitest";
import { only } from "../../support/trace.js";
import { never, RuntimeLab } from "./lab.js";

const CALL = "aaaaaaaaaaaaaaaa";
const STOP = "bbbbbbbbbbbbbbbb";

/** A container that a call has started, and the facts about it. */
function startedByCall(command: readonly string[]) {
  const lab = new RuntimeLab();
  const { trace, events } = lab.recorded;
  const container = trace.because({ causedBy: CALL }, () => lab.run({ command: [...command] }));
  const fact = (to: RegExp) => only(events, "state").find((one) => one.what === "container" && to.test(one.to));
  return { lab, trace, container, fact };
}

test("a container's start is caused by its call, and names its pod", () => {
  const { fact } = startedByCall(["sleep", "100"]);
  assert.deepEqual([fact(/running/)?.causedBy, fact(/running/)?.pod], [CALL, "default/pod-1"]);
});

test("a container that ends by itself was caused by its start", async () => {
  const { lab, fact } = startedByCall(["sleep", "1"]);
  await lab.settle();
  await lab.clock.advance(2_000);
  await lab.settle();
  const started = fact(/running/);
  assert.ok(started !== undefined);
  assert.equal(fact(/exited \(0/)?.causedBy, started.id);
});

test("a container that a call stops was ended by that call", async () => {
  const { lab, trace, container, fact } = startedByCall(["sleep", "100"]);
  await trace.because({ causedBy: STOP }, () => lab.containers.stop(container, 0, never));
  await lab.settle();
  assert.equal(fact(/exited \(137/)?.causedBy, STOP);
});

test("a container that runs out of memory was ended by what it did", async () => {
  const { lab, trace, container, fact } = startedByCall(["sleep", "100"]);
  trace.because({ causedBy: STOP }, () => container.running?.killOutOfMemory());
  await container.stopped();
  await lab.clock.advance(0);
  assert.match(fact(/exited/)?.to ?? "", /OOMKilled/);
  assert.equal(fact(/exited/)?.causedBy, fact(/running/)?.id);
});

test("a container that is killed from outside was ended by that", async () => {
  const { lab, trace, container, fact } = startedByCall(["sleep", "100"]);
  await trace.origin("command", () => lab.runtime.control.killContainer(container.containerId));
  await lab.settle();
  assert.equal(fact(/exited/)?.origin, "command");
});
