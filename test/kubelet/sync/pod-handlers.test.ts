import { describe, expect, test } from "vitest";
import type { PodStatus } from "../../../src/kubelet/container/runtime.js";
import type { PodAdmitResult } from "../../../src/kubelet/lifecycle/admit.js";
import { PodManager } from "../../../src/kubelet/pod/pod-manager.js";
import { PodHandlers, type PodHandlersDeps } from "../../../src/kubelet/sync/pod-handlers.js";
import { CONFIG_HASH_ANNOTATION } from "../../../src/kubelet/types/pod-update.js";
import type { V1Pod, V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { MIRROR_POD_ANNOTATION } from "../../../src/staging/apimachinery/corev1/pod-references.js";
import { containerStatus } from "../../support/container-status.js";
import { CountedMetrics } from "../../support/counted.js";
import { FakeClock } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";
import { emptyPodStatus, makePod } from "../podworkers/pods.js";

function start(kubeVersion = "1.25") {
  const clock = new FakeClock();
  const { trace } = recordingTrace(clock);
  const podManager = new PodManager();
  const told: string[] = [];
  const metrics = new CountedMetrics();
  const state = {
    ready: true,
    ending: new Set<string>(),
    terminated: new Set<string>(),
    statuses: new Map<string, V1PodStatus>(),
    admit: (_active: readonly V1Pod[], _pod: V1Pod): PodAdmitResult => ({ admit: true }),
    cached: new Map<string, PodStatus>(),
  };
  const deps: PodHandlersDeps = {
    podManager,
    podWorkers: {
      updatePod: ({ pod, updateType, mirrorPod }) => {
        const mirror = mirrorPod === undefined ? "" : ` mirror ${mirrorPod.metadata.uid}`;
        told.push(`${updateType} ${pod?.metadata.name}${mirror}`);
      },
      isPodTerminationRequested: (uid) => state.ending.has(uid),
      isPodKnownTerminated: (uid) => state.terminated.has(uid),
    },
    statusManager: {
      getPodStatus: (uid) => state.statuses.get(uid),
      setPodStatus: (pod, { phase, reason, message, qosClass = "" }) =>
        told.push(`status ${pod.metadata.name} ${phase} ${reason}: ${message} ${qosClass}`.trim()),
    },
    podCache: {
      get: (uid) => ({ status: state.cached.get(uid), error: undefined, kind: "cached", modifiedMs: 0 }),
    },
    containerDeletor: {
      deleteContainersInPod: (filter, status, removeAll) =>
        told.push(`delete containers of ${status.podUid} ${filter ?? "all"} ${removeAll}`),
    },
    sourcesReady: { allReady: () => state.ready },
    canAdmitPod: async (active, pod) => state.admit(active, pod),
    recorder: { event: (pod, type, reason) => told.push(`event ${pod.metadata.name} ${type} ${reason}`) },
    clock,
    trace,
    metrics,
  };
  const handlers = new PodHandlers(deps, { kubeVersion });
  return { handlers, metrics, podManager, told, state };
}

const created = (name: string, time: string) => makePod(name, { metadata: { creationTimestamp: time } });
const file = makePod("web", {
  uid: "static",
  source: "file",
  metadata: { annotations: { [CONFIG_HASH_ANNOTATION]: "h" } },
});
const mirror = makePod("web", { uid: "mirror", metadata: { annotations: { [MIRROR_POD_ANNOTATION]: "h" } } });

describe("additions", () => {
  test("the oldest first, each told to its worker", async () => {
    const { handlers, told } = start();
    await handlers.handlePodAdditions([
      created("young", "2026-01-02T00:00:00Z"),
      created("old", "2026-01-01T00:00:00Z"),
    ]);
    expect(told).toEqual(["create old", "create young"]);
  });

  test("admission sees those that are active: not what is over, but what is ending", async () => {
    const { handlers, podManager, state } = start();
    const over = makePod("over", { status: { phase: "Succeeded" } });
    const overHere = makePod("over-here");
    const ending = makePod("ending", { status: { phase: "Failed" } });
    const gone = makePod("gone");
    podManager.setPods([over, overHere, ending, gone, makePod("runs")]);
    state.statuses.set("uid-over-here", { phase: "Failed" });
    state.ending.add("uid-ending");
    state.terminated.add("uid-gone");
    let seen: string[] = [];
    state.admit = (active) => {
      seen = active.map(({ metadata }) => metadata.name);
      return { admit: true };
    };
    await handlers.handlePodAdditions([makePod("new")]);
    expect(seen).toEqual(["ending", "runs"]);
  });

  for (const [release, message] of [
    ["1.25", "Pod Node didn't have enough resource: cpu"],
    ["1.26", "Pod was rejected: Node didn't have enough resource: cpu"],
    ["1.32", "Pod was rejected: Node didn't have enough resource: cpu BestEffort"],
  ] as const) {
    test(`${release}: one that is not let in fails, with an event and without a worker`, async () => {
      const { handlers, told, state, podManager } = start(release);
      state.admit = () => ({ admit: false, reason: "OutOfcpu", message: "Node didn't have enough resource: cpu" });
      await handlers.handlePodAdditions([makePod("big")]);
      expect(told).toEqual(["event big Warning OutOfcpu", `status big Failed OutOfcpu: ${message}`]);
      expect(podManager.getPodByUid("uid-big")).toBeDefined();
    });
  }

  test("one that is ending was let in before: it is not asked again", async () => {
    const { handlers, told, state } = start();
    state.ending.add("uid-a");
    state.admit = () => ({ admit: false, reason: "no", message: "no" });
    await handlers.handlePodAdditions([makePod("a")]);
    expect(told).toEqual(["create a"]);
  });

  test("a mirror pod's change concerns its static pod; without a static pod it is ignored", async () => {
    const { handlers, told } = start();
    await handlers.handlePodAdditions([mirror]);
    expect(told).toEqual([]);
    await handlers.handlePodAdditions([file]);
    await handlers.handlePodAdditions([mirror]);
    expect(told).toEqual(["create web mirror mirror", "update web mirror mirror"]);
  });
});

test("updates, syncs", () => {
  const { handlers, told } = start();
  handlers.handlePodUpdates([makePod("a")]);
  handlers.handlePodSyncs([makePod("a")]);
  expect(told).toEqual(["update a", "sync a"]);
});

describe("removes", () => {
  test("kill", () => {
    const { handlers, told, podManager } = start();
    podManager.addPod(makePod("a"));
    handlers.handlePodRemoves([makePod("a")]);
    expect(told).toEqual(["kill a"]);
    expect(podManager.getPods()).toEqual([]);
  });

  test("before all sources have spoken nothing is killed: housekeeping will", () => {
    const { handlers, told, state } = start();
    state.ready = false;
    handlers.handlePodRemoves([makePod("a")]);
    expect(told).toEqual([]);
  });

  test("a deleted mirror pod: its static pod is synced without a mirror pod", async () => {
    const { handlers, told } = start();
    await handlers.handlePodAdditions([file, mirror]);
    told.length = 0;
    handlers.handlePodRemoves([mirror]);
    expect(told).toEqual(["update web"]);
  });
});

describe("reconcile", () => {
  const gate = { readinessGates: [{ conditionType: "lb" }] };
  const table: [string, V1PodStatus, object, readonly string[]][] = [
    ["only the status differs", { phase: "Running" }, {}, []],
    [
      "a readiness gate was passed",
      {
        phase: "Running",
        conditions: [
          { type: "Ready", status: "False", reason: "ReadinessGatesNotReady" },
          { type: "lb", status: "True" },
        ],
        containerStatuses: [containerStatus({ ready: true })],
      },
      gate,
      ["sync a"],
    ],
    ["evicted", { phase: "Failed", reason: "Evicted" }, {}, ["delete containers of uid-a all true"]],
    ["failed otherwise", { phase: "Failed" }, {}, []],
  ];
  for (const [what, status, spec, want] of table) {
    test(what, () => {
      const { handlers, told, state } = start();
      state.cached.set("uid-a", emptyPodStatus("uid-a"));
      handlers.handlePodReconcile([makePod("a", { status, spec })]);
      expect(told).toEqual(want);
    });
  }
});

test("a new pod's containers are counted, not those of one that changes or is refused", async () => {
  const { handlers, metrics, state } = start();
  await handlers.handlePodAdditions([makePod("web")]);
  handlers.handlePodUpdates([makePod("web")]);
  state.admit = () => ({ admit: false, reason: "NodeAffinity", message: "no" });
  await handlers.handlePodAdditions([makePod("refused")]);
  expect(await metrics.series("kubelet_containers_per_pod_count")).toEqual(["count 1", "sum 1"]);
});
