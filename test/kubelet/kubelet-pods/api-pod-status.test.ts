import assert from "node:assert/strict";
import { test } from "vitest";
import type { ContainerStatus, PodStatus } from "../../../src/kubelet/container/runtime.js";
import { PodSyncResult, type SyncErrorReason } from "../../../src/kubelet/container/sync-result.js";
import { generateApiPodStatus, sortPodIps } from "../../../src/kubelet/kubelet-pods/api-pod-status.js";
import { ReasonCache } from "../../../src/kubelet/kubelet-pods/reason-cache.js";
import { marshalPodStatus } from "../../../src/kubelet/status/wire.js";
import type { V1ContainerStatus, V1Pod, V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { containerStatus } from "../../support/container-status.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

const T0 = "2026-01-01T00:00:00Z";

function podOf(spec: object = {}, status: V1PodStatus = {}, metadata: object = {}): V1Pod {
  const containers = [{ name: "app", image: "busybox" }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns", uid: "u", ...metadata },
    spec: { restartPolicy: "Always", containers, ...spec },
    status,
  };
}

function containerOf(
  name: string,
  state: ContainerStatus["state"],
  more: Partial<ContainerStatus> = {},
): ContainerStatus {
  const times = {
    createdAtMs: START_MS,
    startedAtMs: START_MS,
    ...(state === "exited" ? { finishedAtMs: START_MS } : {}),
  };
  return {
    containerId: `${name}-0`,
    name,
    state,
    ...times,
    exitCode: 0,
    image: "docker.io/busybox",
    imageId: "sha256:1",
    hash: 1,
    restartCount: 0,
    ...more,
  };
}

const runtimeOf = (
  containerStatuses: readonly ContainerStatus[],
  ips: readonly string[] = ["10.244.0.5"],
): PodStatus => ({
  podUid: "u",
  name: "p",
  namespace: "ns",
  ips,
  containerStatuses,
  sandboxStatuses: [{ sandboxId: "s", state: "ready", createdAtMs: 1, attempt: 0, ips, usesHostNetwork: false }],
});

interface Given {
  readonly pod?: V1Pod;
  readonly old?: V1PodStatus;
  readonly runtime?: readonly ContainerStatus[];
  readonly ips?: readonly string[];
  readonly reasons?: Readonly<Record<string, readonly [SyncErrorReason, string]>>;
  readonly hostIps?: readonly string[];
  readonly kubeVersion?: string;
  readonly podIsTerminal?: boolean;
}

function generate({
  pod = podOf(),
  old,
  runtime = [],
  ips,
  reasons = {},
  hostIps = ["192.0.2.1"],
  kubeVersion = "1.25",
  podIsTerminal = false,
}: Given) {
  const reasonCache = new ReasonCache();
  const result = new PodSyncResult();
  for (const [target, [error, message]] of Object.entries(reasons)) {
    result.addSyncResult({ action: "StartContainer", target, error, message });
  }
  reasonCache.update("u", result);
  const isRunning = ({ state }: V1ContainerStatus) => state?.running !== undefined && state.running !== null;
  const probed = (one: V1ContainerStatus) => ({ ...one, started: isRunning(one), ready: isRunning(one) });
  const deps = {
    statusManager: { getPodStatus: () => old },
    probeManager: {
      updatePodStatus: (_: V1Pod, status: V1PodStatus) => ({
        ...status,
        containerStatuses: (status.containerStatuses ?? []).map(probed),
        initContainerStatuses: (status.initContainerStatuses ?? []).map((one) => ({
          ...one,
          ready: one.state?.terminated?.exitCode === 0,
        })),
      }),
    },
    reasonCache,
    trace: recordingTrace(new FakeClock()).trace,
  };
  const options = { runtimeName: "containerd", kubeVersion, hostIps };
  return generateApiPodStatus(deps, options, pod, runtimeOf(runtime, ips), podIsTerminal);
}

/** What kubectl would show of a container. */
function shown(status: V1ContainerStatus | undefined): string {
  const word = (state: V1ContainerStatus["state"]) =>
    state?.waiting
      ? `waiting:${state.waiting.reason ?? ""}`
      : state?.running
        ? "running"
        : state?.terminated
          ? `terminated:${state.terminated.exitCode}:${state.terminated.reason ?? ""}`
          : "-";
  return `${word(status?.state)} last=${word(status?.lastState)} restarts=${status?.restartCount ?? 0}`;
}

const RAN: V1PodStatus = {
  phase: "Running",
  containerStatuses: [containerStatus({ state: { running: { startedAt: T0 } }, restartCount: 2 })],
};
const ENDED: V1PodStatus = {
  phase: "Running",
  containerStatuses: [containerStatus({ state: { terminated: { exitCode: 3 } }, restartCount: 1 })],
};
const GONE = { deletionTimestamp: T0 };
const INIT = { initContainers: [{ name: "init" }] };
const exited = (exitCode: number, more: Partial<ContainerStatus> = {}) =>
  containerOf("app", "exited", { exitCode, reason: exitCode === 0 ? "Completed" : "Error", ...more });

const table: readonly (readonly [string, Given, string, V1PodStatus["phase"]])[] = [
  ["nothing is there yet", {}, "waiting:ContainerCreating last=- restarts=0", "Pending"],
  ["init containers come first", { pod: podOf(INIT) }, "waiting:PodInitializing last=- restarts=0", "Pending"],
  ["created", { runtime: [containerOf("app", "created")] }, "waiting: last=- restarts=0", "Pending"],
  ["running", { runtime: [containerOf("app", "running")] }, "running last=- restarts=0", "Running"],
  ["ended well", { runtime: [exited(0)] }, "terminated:0:Completed last=- restarts=0", "Running"],
  [
    "ended well for good",
    { runtime: [exited(0)], pod: podOf({ restartPolicy: "Never" }) },
    "terminated:0:Completed last=- restarts=0",
    "Succeeded",
  ],
  [
    "ended badly for good",
    { runtime: [exited(1)], pod: podOf({ restartPolicy: "Never" }) },
    "terminated:1:Error last=- restarts=0",
    "Failed",
  ],
  [
    "the second of its name",
    { runtime: [containerOf("app", "running", { restartCount: 1 }), exited(1)] },
    "running last=terminated:1:Error restarts=1",
    "Running",
  ],
  [
    "the third of its name: only two are shown",
    { runtime: [exited(3, { restartCount: 2 }), exited(2, { restartCount: 1 }), exited(1)] },
    "terminated:3:Error last=terminated:2:Error restarts=2",
    "Running",
  ],
  [
    "backing off after its end",
    { runtime: [exited(1, { restartCount: 1 }), exited(1)], reasons: { app: ["CrashLoopBackOff", "back-off 10s"] } },
    "waiting:CrashLoopBackOff last=terminated:1:Error restarts=1",
    "Running",
  ],
  [
    "an image that does not come",
    { reasons: { app: ["ImagePullBackOff", 'Back-off pulling image "x"'] } },
    "waiting:ImagePullBackOff last=- restarts=0",
    "Pending",
  ],
  [
    "a reason of a container that runs again does not count",
    { runtime: [containerOf("app", "running")], reasons: { app: ["CrashLoopBackOff", ""] } },
    "running last=- restarts=0",
    "Running",
  ],
  [
    "a reason of a pod that is going does not count",
    { pod: podOf({}, {}, GONE), runtime: [exited(1)], reasons: { app: ["CrashLoopBackOff", ""] } },
    "terminated:1:Error last=- restarts=0",
    "Running",
  ],
  ["what ended and is gone stays so", { old: ENDED }, "terminated:3: last=- restarts=1", "Running"],
  [
    "what ran and is gone has ended, nobody knows how",
    { old: RAN },
    "waiting:ContainerCreating last=terminated:137:ContainerStatusUnknown restarts=3",
    "Running",
  ],
  [
    "what ran and is gone with its pod is not started again",
    { old: RAN, pod: podOf({}, {}, GONE) },
    "waiting:ContainerCreating last=terminated:137:ContainerStatusUnknown restarts=2",
    "Running",
  ],
  [
    "what ran and is unknown has ended",
    { old: RAN, runtime: [containerOf("app", "unknown")] },
    "terminated:137:ContainerStatusUnknown last=- restarts=3",
    "Running",
  ],
  [
    "what is unknown from the start waits",
    { runtime: [containerOf("app", "unknown")] },
    "waiting: last=- restarts=0",
    "Pending",
  ],
  [
    "containers of other names do not count",
    { runtime: [containerOf("x", "running")] },
    "waiting:ContainerCreating last=- restarts=0",
    "Pending",
  ],
];
for (const [name, given, want, phase] of table) {
  test(`pod status: ${name}`, () => {
    const status = generate(given);
    assert.equal(shown(status.containerStatuses?.[0]), want);
    assert.equal(status.phase, phase);
  });
}

const initTable: readonly (readonly [string, Given, string])[] = [
  ["waits", {}, "waiting:PodInitializing last=- restarts=0"],
  ["runs", { runtime: [containerOf("init", "running")] }, "running last=- restarts=0"],
  [
    "has done its work: no reason matters any more",
    { runtime: [containerOf("init", "exited", { reason: "Completed" })], reasons: { init: ["CrashLoopBackOff", ""] } },
    "terminated:0:Completed last=- restarts=0",
  ],
  [
    "failed and waits",
    { runtime: [containerOf("init", "exited", { exitCode: 1 })], reasons: { init: ["CrashLoopBackOff", ""] } },
    "waiting:CrashLoopBackOff last=terminated:1: restarts=0",
  ],
];
for (const [name, given, want] of initTable) {
  test(`pod status: an init container ${name}`, () => {
    const status = generate({ pod: podOf(INIT), ...given });
    assert.equal(shown(status.initContainerStatuses?.[0]), want);
  });
}

test("pod status: the first and the last that a real kubelet wrote", () => {
  const first = generate({ ips: [] });
  assert.deepEqual(marshalPodStatus(first), {
    phase: "Pending",
    conditions: [
      condition("Initialized", "True"),
      {
        ...condition("Ready", "False"),
        reason: "ContainersNotReady",
        message: "containers with unready status: [app]",
      },
      {
        ...condition("ContainersReady", "False"),
        reason: "ContainersNotReady",
        message: "containers with unready status: [app]",
      },
      condition("PodScheduled", "True"),
    ],
    hostIP: "192.0.2.1",
    containerStatuses: [
      {
        name: "app",
        state: { waiting: { reason: "ContainerCreating" } },
        lastState: {},
        ready: false,
        restartCount: 0,
        image: "busybox",
        imageID: "",
        started: false,
      },
    ],
    qosClass: "BestEffort",
  });
  const [app] = generate({ runtime: [exited(1)] }).containerStatuses ?? [];
  assert.equal(app?.containerID, "containerd://app-0");
  const containerID = "containerd://app-0";
  assert.deepEqual(app?.state?.terminated, {
    exitCode: 1,
    reason: "Error",
    startedAt: T0,
    finishedAt: T0,
    containerID,
  });
});

test("pod status: a container that could not be started has the start time 1970, as the runtime reports", () => {
  const [app] =
    generate({ runtime: [containerOf("app", "exited", { startedAtMs: 0, exitCode: 128 })] }).containerStatuses ?? [];
  assert.equal(app?.state?.terminated?.startedAt, "1970-01-01T00:00:00Z");
});

function condition(type: string, status: "True" | "False") {
  return { type, status, lastProbeTime: null, lastTransitionTime: null };
}

test("pod status: a terminal phase is final, in the API and in the last status", () => {
  const runtime = [containerOf("app", "running")];
  assert.equal(generate({ runtime, old: { phase: "Failed" } }).phase, "Failed");
  assert.equal(generate({ runtime, pod: podOf({}, { phase: "Succeeded" }) }).phase, "Succeeded");
  const never = podOf({ restartPolicy: "Never" }, { phase: "Failed" });
  assert.equal(generate({ runtime: [exited(0)], pod: never }).phase, "Failed");
});

const fromFile = { annotations: { "kubernetes.io/config.source": "file" } };
const AGAIN = { runtime: [containerOf("init", "running"), exited(137)], pod: podOf(INIT) };
const phases: readonly (readonly [string, string, Given, V1PodStatus["phase"]])[] = [
  ["a pod that ends, well", "1.26", { runtime: [exited(0)], podIsTerminal: true }, "Running"],
  ["a pod that ends, well", "1.27", { runtime: [exited(0)], podIsTerminal: true }, "Succeeded"],
  ["a pod that ends, badly", "1.27", { runtime: [exited(1)], podIsTerminal: true }, "Failed"],
  [
    "a static pod that ends",
    "1.27",
    { runtime: [exited(1)], podIsTerminal: true, pod: podOf({}, {}, fromFile) },
    "Running",
  ],
  ["init containers run once more", "1.25", AGAIN, "Pending"],
  ["init containers run once more", "1.32", AGAIN, "Pending"],
];
for (const [name, kubeVersion, given, want] of phases) {
  test(`pod status: v${kubeVersion}, ${name}: ${want}`, () => {
    assert.equal(generate({ ...given, kubeVersion }).phase, want);
  });
}

test("pod status: a sidecar that ended well is not shown to wait for its turn, one that failed is", () => {
  const pod = podOf({ initContainers: [{ name: "init", restartPolicy: "Always" }] });
  const init = (exitCode: number) =>
    shown(
      generate({
        pod,
        runtime: [containerOf("init", "exited", { exitCode })],
        reasons: { init: ["CrashLoopBackOff", ""] },
        kubeVersion: "1.29",
      }).initContainerStatuses?.[0],
    );
  assert.equal(init(0), "terminated:0: last=- restarts=0");
  assert.equal(init(1), "waiting:CrashLoopBackOff last=terminated:1: restarts=0");
});

test("pod status: reason and message stay with their phase", () => {
  const old: V1PodStatus = { phase: "Failed", reason: "Evicted", message: "full" };
  assert.deepEqual([generate({ old }).reason, generate({ old }).message], ["Evicted", "full"]);
  const other = generate({ old: { ...old, phase: "Pending" }, runtime: [containerOf("app", "running")] });
  assert.equal(other.reason, undefined);
  assert.equal(generate({ old: { phase: "Failed" }, pod: podOf({}, old) }).reason, "Evicted");
});

test("pod status: containers are in the order of their names, init containers in the spec's", () => {
  const named = (...names: string[]) => names.map((name) => ({ name, image: "busybox" }));
  const spec = { containers: named("b", "a"), initContainers: named("d", "c"), ephemeralContainers: named("f", "e") };
  const status = generate({ pod: podOf(spec) });
  const lists = [status.containerStatuses, status.initContainerStatuses, status.ephemeralContainerStatuses];
  assert.equal(lists.map((list) => list?.map(({ name }) => name).join("")).join(" "), "ab dc ef");
});

test("pod status: conditions of others stay", () => {
  const mine = { type: "Ready", status: "True" as const };
  const other = { type: "example.com/gate", status: "True" as const };
  const { conditions } = generate({ pod: podOf({}, { conditions: [mine, other] }) });
  const types = conditions?.map(({ type }) => type);
  assert.deepEqual(types, ["example.com/gate", "Initialized", "Ready", "ContainersReady", "PodScheduled"]);
  const newer = generate({ kubeVersion: "1.29" }).conditions?.map(({ type, status }) => `${type}=${status}`);
  assert.equal(newer?.[0], "PodReadyToStartContainers=True");
});

test("pod status: v1.26: what was said of a disruption stays said", () => {
  const disrupted = { type: "DisruptionTarget", status: "True" as const, reason: "TerminationByKubelet" };
  const old: V1PodStatus = { phase: "Failed", conditions: [disrupted] };
  const seen = (kubeVersion: string) =>
    generate({ old, kubeVersion }).conditions?.filter(({ type }) => type === disrupted.type);
  assert.deepEqual([seen("1.25"), seen("1.26")], [[], [disrupted]]);
});

const addresses: readonly (readonly [string, Given, string, string[]])[] = [
  ["its own", {}, "10.244.0.5", ["10.244.0.5"]],
  ["none yet", { ips: [] }, "", []],
  ["the node's", { ips: [], pod: podOf({ hostNetwork: true }) }, "192.0.2.1", ["192.0.2.1"]],
  [
    "both of the node",
    { ips: [], pod: podOf({ hostNetwork: true }), hostIps: ["192.0.2.1", "2001:db8::1"] },
    "192.0.2.1",
    ["192.0.2.1", "2001:db8::1"],
  ],
  [
    "the node's family first",
    { ips: ["10.0.0.1", "fd00::1"], hostIps: ["2001:db8::1"] },
    "fd00::1",
    ["fd00::1", "10.0.0.1"],
  ],
];
for (const [name, given, ip, all] of addresses) {
  test(`pod status: addresses: ${name}`, () => {
    const { podIP, podIPs, hostIP } = generate(given);
    assert.equal(podIP ?? "", ip);
    assert.deepEqual(
      (podIPs ?? []).map((one) => one.ip),
      all,
    );
    assert.equal(hostIP, given.hostIps?.[0] ?? "192.0.2.1");
  });
}

test("pod status: one address of each family, in the node's order", () => {
  assert.deepEqual(sortPodIps(["10.0.0.1", "10.0.0.2", "fd00::1"], ["192.0.2.1"]), ["10.0.0.1", "fd00::1"]);
  assert.deepEqual(sortPodIps([], []), []);
});

test("reason cache: a success forgets, other actions do not count", () => {
  const cache = new ReasonCache();
  const sync = (...results: PodSyncResult["syncResults"]) => {
    const result = new PodSyncResult();
    result.addSyncResult(...results);
    cache.update("u", result);
  };
  sync({ action: "StartContainer", target: "app", error: "ErrImagePull", message: "no such image" });
  sync(
    { action: "KillContainer", target: "app" },
    { action: "CreatePodSandbox", target: "x", error: "CreatePodSandboxError" },
  );
  assert.deepEqual(cache.get("u", "app"), { reason: "ErrImagePull", message: "no such image" });
  assert.equal(cache.get("u", "x"), undefined);
  assert.equal(cache.get("v", "app"), undefined);
  sync({ action: "StartContainer", target: "app" });
  assert.equal(cache.get("u", "app"), undefined);
});
