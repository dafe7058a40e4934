import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "vitest";
import type { PodSeed } from "../../../src/cluster/runtime/control/control.js";
import type { ContainerEvent } from "../../../src/cluster/runtime/state/events.js";
import type { ContainerEventResponse } from "../../../src/staging/cri/messages/container-calls.js";
import { ContainerEventType } from "../../../src/staging/cri/messages/enums.js";
import { RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { settle } from "../../support/fake-clock.js";
import { RuntimeLab, stateOf } from "./lab.js";

let lab: RuntimeLab;
beforeEach(() => {
  lab = new RuntimeLab();
});
afterEach(() => lab.stop());

const NAMES = new Map<number, string>(Object.entries(ContainerEventType).map(([name, value]) => [value, name]));

/** Listens as a kubelet does; events are added to the list. */
function listen(signal: AbortSignal): string[] {
  const seen: string[] = [];
  const context = { rpc: RUNTIME_SERVICE.getContainerEvents, signal };
  const stream = lab.runtime.handlers.runtime.getContainerEvents?.({}, context) as AsyncIterable<ContainerEvent>;
  void (async () => {
    for await (const event of stream) {
      const {
        containerId,
        containerEventType = 0,
        podSandboxStatus,
        containersStatuses,
      } = event as ContainerEventResponse;
      const who = containerId === podSandboxStatus?.id ? "sandbox" : "container";
      const name = NAMES.get(containerEventType)?.replace(/^CONTAINER_|_EVENT$/g, "");
      seen.push(`${who} ${name} (${containersStatuses.map(({ state }) => state).join()})`);
    }
    seen.push("end");
  })();
  return seen;
}

const pod = {
  name: "web",
  namespace: "default",
  uid: "uid-web",
  sandboxId: "926f1b5a1d33a",
  containers: [{ name: "main", image: "busybox", id: "b142f836dcb9c3bb", command: ["sleep", "600"] }],
};

test("events: several listeners see a pod's life", async () => {
  const stop = new AbortController();
  const [one, other] = [listen(stop.signal), listen(stop.signal)];
  await settle();
  lab.runtime.control.runPod(pod);
  await lab.runtime.control.killContainer("b142f836dcb9c3bb");
  await lab.runtime.control.removeSandbox("926f1b5a1d33a");
  await settle();
  stop.abort();
  await settle();
  const want = [
    "sandbox CREATED ()",
    "sandbox STARTED ()",
    "container CREATED (0)",
    "container STARTED (1)",
    "container STOPPED (2)",
    "sandbox STOPPED (2)",
    "container DELETED ()",
    "sandbox DELETED ()",
    "end",
  ];
  assert.deepEqual(one, want);
  assert.deepEqual(other, want);
});

test("events: dropped, for a while or by count, counted; silently removed; streams cut", async () => {
  const { control } = lab.runtime;
  const stop = new AbortController();
  const seen = listen(stop.signal);
  await settle();
  control.dropEvents(3);
  control.runPod(pod);
  await settle();
  assert.deepEqual(seen, ["container STARTED (1)"]);
  control.dropEvents(true);
  await control.killContainer("b142f836dcb9c3bb", { exitCode: 1 });
  control.dropEvents(false);
  await control.removeContainer("b142f836dcb9c3bb", true);
  await settle();
  assert.equal(seen.length, 1);
  assert.equal(control.snapshot().eventsDropped, 5);
  control.breakEventStreams();
  await settle();
  assert.equal(seen.at(-1), "end");
  stop.abort();
});

const KILLS = [
  [{}, "exited (137, Error)"],
  [{ exitCode: 0 }, "exited (0, Completed)"],
  [{ exitCode: 42 }, "exited (42, Error)"],
  [{ oom: true }, "exited (137, OOMKilled)"],
  [{ signal: "SIGKILL" }, "exited (137, Error)"],
  [{ signal: "TERM" }, "running"],
] as const;
for (const [how, want] of KILLS) {
  test(`kill ${JSON.stringify(how)}: ${want}`, async () => {
    lab.runtime.control.runPod(pod);
    const container = lab.core.container("b142");
    // In a shared PID namespace the command is not PID 1, so SIGTERM would end it.
    if ("signal" in how && how.signal === "TERM") {
      const init = lab.run({ command: ["sleep", "600"] });
      await lab.runtime.control.killContainer(init.containerId, how);
      assert.equal(stateOf(init), want);
      return;
    }
    await lab.runtime.control.killContainer("b142", how);
    assert.equal(stateOf(container), want);
    await assert.rejects(lab.runtime.control.killContainer("b142"), { code: "FailedPrecondition" });
  });
}

test("a sandbox that is no longer ready has no address and starts no containers; running ones continue", () => {
  const { control } = lab.runtime;
  control.runPod({ ...pod, containers: [...pod.containers, { name: "late", image: "busybox", state: "created" }] });
  const ip = control.snapshot().sandboxes[0]?.ip ?? "";
  assert.match(ip, /^10\.244\.0\./);
  control.setSandboxNotReady(pod.sandboxId);
  const [sandbox] = control.snapshot().sandboxes;
  assert.deepEqual(
    [sandbox?.state, ...(sandbox?.containers ?? []).map(({ state }) => state)],
    ["not-ready", "running", "created"],
  );
  assert.equal(lab.core.network.find(ip), undefined);
  assert.throws(() => control.startContainer(sandbox?.containers[1]?.containerId ?? ""), {
    code: "FailedPrecondition",
  });
  assert.throws(() => control.runContainer(pod.sandboxId, { name: "new", image: "busybox" }), {
    code: "FailedPrecondition",
  });
});

const HALF: readonly (readonly [string, Partial<PodSeed>])[] = [
  ["an image that is none", { containers: [...pod.containers, { name: "two", image: "../../etc" }] }],
  [
    "a command that is not there",
    { containers: [...pod.containers, { name: "two", image: "q.io/a", command: ["/no"] }] },
  ],
  ["two containers of one name", { containers: [...pod.containers, { name: "main", image: "busybox" }] }],
  ["an ID that is taken", { containers: [...pod.containers, { name: "two", image: "busybox", id: pod.sandboxId }] }],
  ["a log that is elsewhere", { logDirectory: "/x", containers: [{ name: "one", image: "busybox", logPath: "../y" }] }],
];
for (const [why, seed] of HALF) {
  test(`a pod with ${why}: leaves nothing behind, and a corrected request succeeds`, () => {
    const { control } = lab.runtime;
    const before = control.snapshot();
    assert.throws(() => control.runPod({ ...pod, ...seed }));
    assert.deepEqual(control.snapshot(), before);
    control.runPod(pod);
  });
}

test("a container that fails to start is removed from its sandbox", () => {
  const { control } = lab.runtime;
  control.runPod(pod);
  const before = control.snapshot();
  assert.throws(() => control.runContainer(pod.sandboxId, { name: "two", image: "q.io/a", command: ["/no"] }));
  assert.deepEqual(control.snapshot(), before);
});

test("addresses: unique, reused after a sandbox is removed, absent in the host network", () => {
  const small = new RuntimeLab({ podCidr: "10.1.2.0/29" });
  const sandboxes = Array.from({ length: 5 }, () => small.sandbox());
  assert.deepEqual(
    sandboxes.map(({ ip }) => ip),
    ["10.1.2.2", "10.1.2.3", "10.1.2.4", "10.1.2.5", "10.1.2.6"],
  );
  assert.throws(() => small.sandbox(), { code: "ResourceExhausted" });
  small.sandboxes.becomeNotReady(sandboxes[1] as never);
  assert.equal(small.sandbox().ip, "10.1.2.3");
  assert.equal(small.sandbox({ linux: { securityContext: { namespaceOptions: { network: 2 } } } }).ip, undefined);
});

test("conditions: in Status, and sandboxes without a network", () => {
  const { control, handlers } = lab.runtime;
  const conditions = () => {
    const answer = handlers.runtime.status?.(
      { verbose: false },
      { rpc: RUNTIME_SERVICE.status, signal: new AbortController().signal },
    );
    return (answer as { status: { conditions: { type: string; status: boolean; message: string }[] } }).status
      .conditions;
  };
  assert.deepEqual(
    conditions().map(({ status }) => status),
    [true, true],
  );
  control.setCondition("NetworkReady", "cni plugin not initialized");
  assert.deepEqual(
    conditions().map(({ status, message }) => [status, message]),
    [
      [true, ""],
      [false, "cni plugin not initialized"],
    ],
  );
  assert.throws(() => control.runPod(pod), /cni plugin not initialized/);
  control.setCondition("NetworkReady", undefined);
  control.runPod(pod);
});

test("changes: reported at once, also to the trace", async () => {
  const stop = new AbortController();
  const seen: string[] = [];
  void (async () => {
    for await (const { kind, pod: name, from, to } of lab.runtime.control.changes(stop.signal)) {
      seen.push(`${kind} ${name}: ${from} -> ${to}`);
    }
  })();
  await settle();
  lab.runtime.control.runPod(pod);
  await lab.runtime.control.killContainer("b142", { oom: true });
  await settle();
  stop.abort();
  assert.deepEqual(seen, [
    "sandbox default/web: none -> ready",
    "container default/web: none -> created",
    "container default/web: created -> running",
    "container default/web: running -> exited (137, OOMKilled)",
  ]);
  assert.equal(lab.recorded.events.filter(({ kind }) => kind === "state").length, 4);
});

test("IDs from a seed repeat, and have 64 hexadecimal characters", () => {
  const ids = () => {
    const seeded = new RuntimeLab({ seed: 7 });
    return [seeded.sandbox().sandboxId, seeded.create().containerId];
  };
  assert.deepEqual(ids(), ids());
  for (const id of ids()) assert.match(id, /^[0-9a-f]{64}$/);
});

test("IDs are new even where chance always says the same", async () => {
  const { FakeRandom } = await import("../../support/fake-clock.js");
  const stuck = new RuntimeLab({ random: new FakeRandom() });
  assert.equal(new Set(Array.from({ length: 10 }, () => stuck.sandbox().sandboxId)).size, 10);
});
