import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { hashContainer } from "../../../src/kubelet/container/hash.js";
import type { ContainerStatus, PodStatus, SandboxStatus } from "../../../src/kubelet/container/runtime.js";
import type { ProbeResult } from "../../../src/kubelet/container/runtime-helper.js";
import { computePodActions } from "../../../src/kubelet/kuberuntime/compute-pod-actions.js";
import type { PodActions } from "../../../src/kubelet/kuberuntime/pod-actions.js";
import { describeActions, wantsNothing } from "../../../src/kubelet/kuberuntime/report.js";
import type { V1Container, V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { FakeProbes, podOf } from "./lab.js";

/**
 * What the runtime has, in words: `app` runs; `app=0` exited with 0; `app?` is unknown; `app+` was created only; `app!` has
 * another spec's hash. After a name may come what a probe found: `app/liveness`, `app/startup` (failed), `app/started`.
 */
type Seen = string;

const SANDBOX: SandboxStatus = {
  sandboxId: "s",
  state: "ready",
  createdAtMs: 1,
  attempt: 0,
  ips: ["10.0.0.1"],
  usesHostNetwork: false,
};

interface Case {
  readonly seen: Seen;
  /** `containers`, and before a bar the init containers: `init|app side`; `*` after a name: restartable */
  readonly spec: string;
  readonly policy?: "Always" | "OnFailure" | "Never";
  readonly sandboxes?: readonly Partial<SandboxStatus>[];
  readonly deleted?: boolean;
  readonly kubeVersion?: string;
  readonly ephemeral?: readonly string[];
  readonly hostNetwork?: boolean;
}

const PROBE = { exec: { command: ["true"] } };

function specOf({ spec, policy = "Always", deleted, ephemeral = [], hostNetwork }: Case): V1Pod {
  const [left = "", right] = spec.split("|");
  const list = (text: string): Partial<V1Container>[] =>
    text
      .split(" ")
      .filter(Boolean)
      .map((word) => ({
        name: word.replace("*", ""),
        ...(word.endsWith("*") ? { restartPolicy: "Always", startupProbe: PROBE, livenessProbe: PROBE } : {}),
      }));
  return podOf(
    list(right ?? left),
    {
      restartPolicy: policy,
      ...(right === undefined ? {} : { initContainers: list(left) }),
      ...(ephemeral.length === 0 ? {} : { ephemeralContainers: ephemeral.map((name) => ({ name, image: "busybox" })) }),
      ...(hostNetwork === undefined ? {} : { hostNetwork }),
    },
    deleted === true ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {},
  );
}

function actionsOf(given: Case): { readonly pod: V1Pod; readonly actions: PodActions } {
  const { seen, sandboxes = [SANDBOX], kubeVersion = "1.25" } = given;
  const pod = specOf(given);
  const [liveness, startup] = [new FakeProbes(), new FakeProbes()];
  const all = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
  const statuses = seen
    .split(" ")
    .filter(Boolean)
    .map((word): ContainerStatus => {
      const [, name = "", mark = "", code, probe] = /^([a-z0-9-]+)([?+!]?)(?:=(\d+))?(?:\/(\w+))?$/.exec(word) ?? [];
      const spec = all.find((container) => container.name === name);
      const found: Readonly<Record<string, readonly [FakeProbes, ProbeResult]>> = {
        liveness: [liveness, "failure"],
        startup: [startup, "failure"],
        started: [startup, "success"],
      };
      const [manager, result] = found[probe ?? ""] ?? [];
      if (result !== undefined) manager?.results.set(`id-${name}`, result);
      return {
        containerId: `id-${name}`,
        name,
        state: mark === "?" ? "unknown" : mark === "+" ? "created" : code === undefined ? "running" : "exited",
        createdAtMs: 1,
        exitCode: Number(code ?? 0),
        image: "",
        imageId: "",
        hash: mark === "!" || spec === undefined ? 1 : hashContainer(spec, kubeVersion),
        restartCount: 0,
      };
    });
  const podStatus: PodStatus = {
    podUid: pod.metadata.uid,
    name: pod.metadata.name,
    namespace: "default",
    ips: [],
    containerStatuses: statuses,
    sandboxStatuses: sandboxes.map((sandbox) => ({ ...SANDBOX, ...sandbox })),
  };
  const deps = { livenessManager: liveness, startupManager: startup, kubeVersion };
  return { pod, actions: computePodActions(pod, podStatus, deps) };
}

/** `kill pod`, `sandbox 1`, `init a`, `start a`, `kill a`, `debug a`: all that is to be done, in one line. */
function text({ pod, actions }: ReturnType<typeof actionsOf>): string {
  const names = (indexes: readonly number[], list: readonly { name: string }[] | null | undefined, verb: string) =>
    indexes.map((i) => `${verb} ${list?.[i]?.name}`);
  const { ephemeralContainers } = pod.spec;
  return [
    ...(actions.killPod ? ["kill pod"] : []),
    ...(actions.createSandbox ? [`sandbox ${actions.attempt}`] : []),
    ...actions.containersToKill.map(({ name }) => `kill ${name}`),
    ...names(actions.ephemeralContainersToStart, ephemeralContainers, "debug"),
    ...names(actions.initContainersToStart, pod.spec.initContainers, "init"),
    ...names(actions.containersToStart, pod.spec.containers, "start"),
  ].join(", ");
}

const dead = [{ state: "not-ready" }] as const;
const table: readonly [string, Case, string][] = [
  // Sandboxes
  ["a new pod", { spec: "a b", seen: "", sandboxes: [] }, "kill pod, sandbox 0, start a, start b"],
  ["a new pod with init containers", { spec: "i j|a", seen: "", sandboxes: [] }, "kill pod, sandbox 0, init i"],
  ["its sandbox died", { spec: "a", seen: "a=1", sandboxes: dead }, "kill pod, sandbox 1, start a"],
  ["... with init containers", { spec: "i|a", seen: "a=1 i=0", sandboxes: dead }, "kill pod, sandbox 1, init i"],
  ["... Never, and something ran", { spec: "a", policy: "Never", seen: "a=1", sandboxes: dead }, "kill pod"],
  [
    "... Never, and nothing ran",
    { spec: "a", policy: "Never", seen: "", sandboxes: dead },
    "kill pod, sandbox 1, start a",
  ],
  ["... OnFailure, all succeeded", { spec: "a b", policy: "OnFailure", seen: "a=0 b=0", sandboxes: dead }, "kill pod"],
  [
    "... OnFailure, one failed",
    { spec: "a b", policy: "OnFailure", seen: "a=0 b=1", sandboxes: dead },
    "kill pod, sandbox 1, start b",
  ],
  [
    "... OnFailure, all succeeded, init containers too",
    { spec: "i|a", policy: "OnFailure", seen: "a=0 i=0", sandboxes: dead },
    "kill pod",
  ],
  [
    "two sandboxes are ready",
    { spec: "a", seen: "a", sandboxes: [{ attempt: 3 }, {}] },
    "kill pod, sandbox 4, start a",
  ],
  [
    "the newest is not ready",
    { spec: "a", seen: "a", sandboxes: [{ attempt: 1, state: "not-ready" }, {}] },
    "kill pod, sandbox 2, start a",
  ],
  ["it is in the host's network now", { spec: "a", seen: "a", hostNetwork: true }, "kill pod, sandbox 1, start a"],
  [
    "it is in the host's network, as it should",
    { spec: "a", seen: "a", hostNetwork: true, sandboxes: [{ usesHostNetwork: true }] },
    "",
  ],
  [
    "its sandbox has no address",
    { spec: "a", seen: "a", sandboxes: [{ lacksIp: true, ips: [] }] },
    "kill pod, sandbox 1, start a",
  ],
  // Containers
  ["all runs", { spec: "a b", seen: "a b" }, ""],
  ["one is missing", { spec: "a b", seen: "a" }, "start b"],
  ["one was created only", { spec: "a b", seen: "a b+" }, "start b"],
  ["one is unknown", { spec: "a b", seen: "a b?" }, "kill b, start b"],
  ["one failed, Always", { spec: "a b", seen: "a b=1" }, "start b"],
  ["one succeeded, Always", { spec: "a b", seen: "a b=0" }, "start b"],
  ["one failed, OnFailure", { spec: "a b", policy: "OnFailure", seen: "a b=1" }, "start b"],
  ["one succeeded, OnFailure", { spec: "a b", policy: "OnFailure", seen: "a b=0" }, ""],
  ["one failed, Never", { spec: "a b", policy: "Never", seen: "a b=1" }, ""],
  ["one is missing, Never", { spec: "a b", policy: "Never", seen: "a" }, "start b"],
  ["all failed, Never", { spec: "a b", policy: "Never", seen: "a=1 b=1" }, "kill pod"],
  ["all succeeded, OnFailure", { spec: "a b", policy: "OnFailure", seen: "a=0 b=0" }, "kill pod"],
  ["one failed in a pod that goes", { spec: "a b", seen: "a b=1", deleted: true }, ""],
  ["all ended in a pod that goes", { spec: "a", seen: "a=0", deleted: true }, "kill pod"],
  ["another spec", { spec: "a b", seen: "a! b" }, "kill a, start a"],
  ["another spec, Never", { spec: "a b", policy: "Never", seen: "a! b" }, "kill a, start a"],
  ["its liveness probe failed", { spec: "a b", seen: "a/liveness b" }, "kill a, start a"],
  ["its liveness probe failed, Never", { spec: "a b", policy: "Never", seen: "a/liveness b" }, "kill a"],
  [
    "the only one's liveness probe failed, Never",
    { spec: "a", policy: "Never", seen: "a/liveness" },
    "kill pod, kill a",
  ],
  ["its startup probe failed", { spec: "a b", seen: "a/startup b" }, "kill a, start a"],
  ["a container that the spec does not have is nobody's", { spec: "a", seen: "a other" }, ""],
  // Init containers
  ["nothing ran yet", { spec: "i j|a", seen: "" }, "init i"],
  ["the first runs", { spec: "i j|a", seen: "i" }, ""],
  ["the first was created only", { spec: "i j|a", seen: "i+" }, "init i"],
  ["the first is done", { spec: "i j|a", seen: "i=0" }, "init j"],
  ["the second runs", { spec: "i j|a", seen: "j i=0" }, ""],
  ["the second failed", { spec: "i j|a", seen: "j=1 i=0" }, "init j"],
  ["the second failed, Never", { spec: "i j|a", policy: "Never", seen: "j=1 i=0" }, "kill pod"],
  ["the first failed, OnFailure", { spec: "i j|a", policy: "OnFailure", seen: "i=1" }, "init i"],
  ["the first is unknown", { spec: "i j|a", seen: "i?" }, "kill i, init i"],
  ["the first is unknown, Never", { spec: "i j|a", policy: "Never", seen: "i?" }, "kill pod"],
  ["all are done", { spec: "i j|a", seen: "j=0 i=0" }, "start a"],
  ["the last is done, and the first collected", { spec: "i j|a", seen: "j=0" }, "start a"],
  ["all are collected, and a container runs", { spec: "i j|a b", seen: "a b" }, ""],
  ["all are collected, one of two containers runs", { spec: "i|a b", seen: "a b=1" }, "start b"],
  ["all are collected, and no container runs", { spec: "i|a", seen: "a=1" }, "init i"],
  // Ephemeral containers
  ["a new one to debug with", { spec: "a", seen: "a", ephemeral: ["d"] }, "debug d"],
  ["... before it is initialized", { spec: "i|a", seen: "i", ephemeral: ["d"] }, "debug d"],
  ["... which has ended", { spec: "a", seen: "a d=0", ephemeral: ["d"] }, ""],
  ["... with the sandbox", { spec: "a", seen: "", sandboxes: [], ephemeral: ["d"] }, "kill pod, sandbox 0, start a"],
  // A restartable init container is an ordinary one before v1.29.
  ["v1.25 waits for its end", { spec: "s* i|a", seen: "s/started" }, ""],
];

/** With sidecars. */
const sidecars: readonly [string, Case, string][] = [
  ["a new pod", { spec: "s*|a", seen: "", sandboxes: [] }, "kill pod, sandbox 0, init s"],
  ["nothing ran yet", { spec: "s* i|a", seen: "" }, "init s"],
  ["it runs, its startup probe is not through", { spec: "s* i|a", seen: "s" }, ""],
  ["it has started: the next", { spec: "s* i|a", seen: "s/started" }, "init i"],
  ["it has started and is the last", { spec: "i s*|a", seen: "s/started i=0" }, "start a"],
  ["its startup probe failed", { spec: "s*|a", seen: "s/startup" }, "kill s, init s"],
  ["it ended while the next runs", { spec: "s* i|a", seen: "i s=1" }, "init s"],
  ["it ended while the containers run", { spec: "s* i|a", seen: "a i=0 s=0" }, "init s"],
  ["it ended, Never", { spec: "s*|a", policy: "Never", seen: "a s=1" }, "init s"],
  ["it was created only", { spec: "s*|a", seen: "s+" }, "init s"],
  ["it is unknown", { spec: "s*|a", seen: "a s?" }, "kill s, init s"],
  ["it is collected, and a container runs", { spec: "s*|a", seen: "a" }, "init s"],
  ["an ordinary one is collected, and a container runs", { spec: "i s*|a", seen: "a s/started" }, ""],
  ["it has another spec", { spec: "s*|a", seen: "a s!/started" }, "kill s, init s"],
  ["the ordinary one failed, Never", { spec: "s* i|a", policy: "Never", seen: "i=1 s/started" }, "kill pod"],
  ["the ordinary one failed", { spec: "s* i|a", seen: "i=1 s/started" }, "init i"],
  [
    "it ended as well as all others: it begins the next round",
    { spec: "s*|a", policy: "Never", seen: "a=0 s=1" },
    "init s",
  ],
  ["all others are over while it runs", { spec: "s*|a", policy: "Never", seen: "a=0 s/started" }, "kill pod"],
  [
    "the sandbox died after all ended",
    { spec: "s*|a", policy: "OnFailure", seen: "a=0 s=0", sandboxes: dead },
    "kill pod",
  ],
  ["the ordinary one is unknown", { spec: "i s*|a", seen: "i?" }, "kill i, init i"],
  ["two of them, both ended", { spec: "s* t*|a", seen: "a t=1 s=1" }, "init s, init t"],
];

describe("computePodActions", () => {
  for (const [name, given, want] of table) {
    test(`${name} (${given.spec}; ${given.seen || "nothing"}): ${want || "nothing"}`, () => {
      assert.equal(text(actionsOf(given)), want);
    });
  }
});

describe("computePodActions with restartable init containers", () => {
  for (const [name, given, want] of sidecars) {
    test(`${name} (${given.spec}; ${given.seen || "nothing"}): ${want || "nothing"}`, () => {
      assert.equal(text(actionsOf({ kubeVersion: "1.29", ...given })), want);
    });
  }
});

const messages: readonly [Case, string, string][] = [
  [{ spec: "a", seen: "a!" }, "Container a definition changed, will be restarted", ""],
  [{ spec: "a", seen: "a/liveness" }, "Container a failed liveness probe, will be restarted", "LivenessProbe"],
  [{ spec: "a b", policy: "Never", seen: "a/startup b" }, "Container a failed startup probe", "StartupProbe"],
  [{ spec: "a b", seen: "a? b" }, 'Container is in "unknown" state, try killing it before restart', "Unknown"],
  [{ spec: "i|a", seen: "i?" }, 'Init container is in "unknown" state, try killing it before restart', "Unknown"],
  [{ spec: "s*|a", seen: "s/startup", kubeVersion: "1.29" }, "Init container s failed startup probe", "StartupProbe"],
];
for (const [given, message, reason] of messages) {
  test(`computePodActions: gives the reason of a kill (${given.spec}; ${given.seen})`, () => {
    const [kill] = actionsOf(given).actions.containersToKill;
    assert.deepEqual([kill?.message, kill?.reason], [message, reason]);
  });
}

test("report: lists the actions in their order, with the reason", () => {
  const one = actionsOf({ spec: "i|a", seen: "a=1", sandboxes: dead });
  const { name } = one.pod.metadata;
  assert.deepEqual(describeActions(one.pod, one.actions), {
    what: `default/${name}: stop all that runs, create sandbox (attempt 1), start init i`,
    why: "sandbox s is not ready",
  });
  assert.equal(wantsNothing(one.actions), false);
  assert.equal(wantsNothing(actionsOf({ spec: "a", seen: "a" }).actions), true);
  const over = actionsOf({ spec: "a", policy: "Never", seen: "a=0" });
  assert.equal(describeActions(over.pod, over.actions).why, "none of its containers is to run on or to start");
});
