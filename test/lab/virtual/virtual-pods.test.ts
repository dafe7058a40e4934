import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { HandlerEvent, HandlerSignals, HandlerTask, PodHandler } from "../../../src/lab/virtual/handler.js";
import { HandlerLog } from "../../../src/lab/virtual/log-file.js";
import { failed, SUCCEEDED } from "../../../src/lab/virtual/outcome.js";
import { withWork } from "../../../src/lab/virtual/pod-status.js";
import { VirtualPods } from "../../../src/lab/virtual/virtual-pods.js";
import type { V1Pod, V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { ContainerConfig } from "../../../src/staging/cri/messages/container.js";
import { PodSandboxConfig } from "../../../src/staging/cri/messages/sandbox.js";
import { AsyncQueue } from "../../../src/util/async/async-queue.js";
import { FakeClock, FakeRandom, settle } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";
import { podOf } from "./tasks.js";

/** A handler that a test controls. */
class PlayedHandler implements PodHandler {
  readonly description = "played";
  readonly calls: HandlerTask[] = [];
  readonly events = new AsyncQueue<HandlerEvent>();
  aborted: string | undefined;

  async *run(task: HandlerTask, { abort, kill }: HandlerSignals): AsyncGenerator<HandlerEvent> {
    this.calls.push(task);
    abort.addEventListener("abort", () => {
      this.aborted = (abort.reason as Error).message;
    });
    kill.addEventListener("abort", () => this.events.push({ kind: "end", outcome: failed("Abandoned", "", 137) }));
    for await (const event of this.events) {
      yield event;
      if (event.kind === "end") return;
    }
  }

  end(): void {
    this.events.push({ kind: "end", outcome: { ...SUCCEEDED, message: "done" } });
  }
}

function setUp(spec: Partial<V1Pod["spec"]> = {}, timeoutMs?: number) {
  const clock = new FakeClock();
  const { trace, events: facts } = recordingTrace(clock);
  const handler = new PlayedHandler();
  const pod = podOf("p", spec);
  const changed: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), "virtual-"));
  const pods = new VirtualPods(
    {
      handler,
      clock,
      random: Object.assign(new FakeRandom(), { bytes: () => Buffer.from(String(changed.length + nextId++)) }),
      trace,
      pod: (uid) => (uid === pod.metadata.uid ? pod : undefined),
      onChanged: (uid) => changed.push(uid),
    },
    { timeoutMs },
  );
  const metadata = { name: "p", namespace: "default", uid: pod.metadata.uid, attempt: 0 };
  const sandbox = pods.runSandbox(PodSandboxConfig.decode(PodSandboxConfig.encode({ metadata })));
  const create = (name: string) => {
    const config = ContainerConfig.encode({ metadata: { name, attempt: 0 }, logPath: `${name}.log` });
    return pods.createContainer(sandbox, ContainerConfig.decode(config), folder);
  };
  return { trace, facts, clock, handler, pod, pods, sandbox, create, changed, folder };
}
let nextId = 0;

test("the handler is called once, when the last container has been started; its end is the end of all containers", async () => {
  const { handler, pods, create, changed, folder } = setUp({
    initContainers: [{ name: "init" }],
    containers: [{ name: "a" }, { name: "b" }],
  });
  const [init, a, b] = [create("init"), create("a"), create("b")];
  pods.startContainer(init);
  assert.deepEqual([init.state, init.exitCode], ["exited", 0]);
  pods.startContainer(a);
  await settle();
  assert.equal(handler.calls.length, 0);
  pods.startContainer(b);
  await settle();
  assert.deepEqual(
    handler.calls.map(({ containers }) => containers.map(({ name }) => name)),
    [["a", "b"]],
  );
  handler.events.push({ kind: "log", stream: "stdout", bytes: Buffer.from("one\ntwo") });
  handler.end();
  await settle();
  assert.deepEqual([a.state, a.message, b.state, changed.length], ["exited", "done", "exited", 1]);
  assert.equal(
    readFileSync(join(folder, "a.log"), "utf8"),
    "2026-01-01T00:00:00.000Z stdout F one\n2026-01-01T00:00:00.000Z stdout P two\n",
  );
});

test("a handler that does not stop within its grace period is abandoned", async () => {
  const { clock, handler, pods, create } = setUp();
  const container = create("c");
  pods.startContainer(container);
  await settle();
  const stopped = pods.stopContainer(container, 30_000);
  await clock.advance(29_999);
  assert.deepEqual([handler.aborted, container.state], ["the kubelet stops the pod", "running"]);
  await clock.advance(1);
  await stopped;
  assert.deepEqual([container.state, container.exitCode, clock.sleeping], ["exited", 137, 0]);
});

test("a handler that stops within its grace period ends the wait", async () => {
  const { clock, handler, pods, create } = setUp();
  const container = create("c");
  pods.startContainer(container);
  await settle();
  const stopped = pods.stopContainer(container, 30_000);
  handler.end();
  await stopped;
  assert.deepEqual([container.exitCode, container.message, clock.sleeping], [0, "done", 0]);
});

test("past its time limit the handler is asked to stop, and its pod fails whatever it returns", async () => {
  const { clock, handler, pods, create } = setUp({ terminationGracePeriodSeconds: 5 }, 60_000);
  const container = create("c");
  pods.startContainer(container);
  await clock.advance(60_000);
  assert.match(handler.aborted ?? "", /longer than 60 s/);
  handler.end();
  await settle();
  assert.deepEqual([container.reason, container.exitCode, clock.sleeping], ["HandlerTimeout", 124, 0]);
});

test("close abandons running handlers, and starts no more", async () => {
  const { pods, create, clock } = setUp();
  const [container, late] = [create("c"), create("late")];
  pods.startContainer(container);
  await settle();
  await pods.close();
  assert.deepEqual([container.state, clock.sleeping], ["exited", 0]);
  assert.throws(() => pods.startContainer(late), /exited already|runtime ends/);
});

test("a log that was rotated continues in a new file", () => {
  const path = join(mkdtempSync(join(tmpdir(), "virtual-log-")), "0.log");
  const log = new HandlerLog(path, new FakeClock());
  log.write("stdout", Buffer.from("before\nhalf "));
  renameSync(path, `${path}.1`);
  log.write("stdout", Buffer.from("a line\n"));
  log.reopen();
  log.write("stderr", Buffer.from("after\n"));
  log.close();
  const said = (file: string) => [...readFileSync(file, "utf8").matchAll(/ (std\w+ F .*)\n/g)].map(([, line]) => line);
  assert.deepEqual(said(`${path}.1`), ["stdout F before", "stdout F half a line"]);
  assert.deepEqual(said(path), ["stderr F after"]);
});

test("progress is the message of a running pod; the outcome is its phase, whatever its containers' states", async () => {
  const { handler, pods, create, sandbox } = setUp();
  pods.startContainer(create("c"));
  handler.events.push({ kind: "progress", progress: { percent: 40, message: "resizing" } });
  await settle();
  const running: V1PodStatus = { phase: "Running", conditions: [] };
  assert.equal(withWork(running, sandbox.work).message, "40 %: resizing");
  assert.equal(withWork({ phase: "Pending" }, sandbox.work).message, undefined);
  assert.equal(withWork(running, undefined), running);
  handler.end();
  await settle();
  const { phase, reason, message, conditions } = withWork({ ...running, reason: "old" }, sandbox.work);
  assert.deepEqual([phase, reason, message], ["Succeeded", "Completed", "done"]);
  assert.deepEqual(
    conditions?.map(({ type, status, reason: why }) => `${type} ${status} ${why}`),
    ["Ready False PodCompleted", "ContainersReady False PodCompleted"],
  );
});

test("what a handler does is caused by the call that started it, and its end by the call that stopped it", async () => {
  const { handler, pods, create, trace, facts } = setUp();
  const container = create("c");
  trace.because({ causedBy: "start1" }, () => pods.startContainer(container));
  handler.events.push({ kind: "progress", progress: { message: "half" } });
  await settle();
  const stopped = trace.because({ causedBy: "stop2" }, () => pods.stopContainer(container, 30_000));
  handler.end();
  await stopped;
  assert.deepEqual(
    facts.map(({ kind, causedBy, pod }) => [kind, causedBy, pod]),
    [
      ["decision", "start1", "default/p"],
      ["note", facts[0]?.id, "default/p"],
      ["decision", "stop2", "default/p"],
      ["state", "stop2", "default/p"],
    ],
  );
});
