import { describe, expect, test } from "vitest";
import { ActiveDeadline } from "../../../src/kubelet/sync/active-deadline.js";
import { PodDeletionSafety } from "../../../src/kubelet/sync/deletion-safety.js";
import { toNodeImages } from "../../../src/kubelet/sync/node-images.js";
import { PodCidr } from "../../../src/kubelet/sync/pod-cidr.js";
import { ReclaimedPods } from "../../../src/kubelet/sync/reclaimed-pods.js";
import type { NodeObject } from "../../../src/staging/apimachinery/api/node.js";
import type { V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { containerStatus } from "../../support/container-status.js";
import { FakeClock, START_MS, settle } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";
import { makePod } from "../podworkers/pods.js";

const { signal } = new AbortController();

describe("activeDeadlineSeconds", () => {
  const started = new Date(START_MS).toISOString();
  const table: [string, object, V1PodStatus, number, boolean][] = [
    // what              spec                            status                    after s  past
    ["none", {}, { startTime: started }, 9_999, false],
    ["not yet", { activeDeadlineSeconds: 60 }, { startTime: started }, 59, false],
    ["over", { activeDeadlineSeconds: 60 }, { startTime: started }, 60, true],
    ["not begun", { activeDeadlineSeconds: 60 }, {}, 9_999, false],
  ];
  for (const [what, spec, status, seconds, isPast] of table) {
    test(`${what}: ${isPast ? "it fails, is not Ready, and each call records an event" : "nothing"}`, async () => {
      const clock = new FakeClock();
      const told: string[] = [];
      let current = status;
      const deadline = new ActiveDeadline({
        statusManager: { getPodStatus: () => current },
        recorder: { event: (_pod, _type, reason) => told.push(reason) },
        clock,
      });
      await clock.advance(seconds * 1000);
      const pod = makePod("a", { spec });
      expect(deadline.shouldSync(pod)).toBe(isPast);
      const running: V1PodStatus = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
      current = { ...deadline.apply(pod, running), ...status };
      expect(current.phase).toBe(isPast ? "Failed" : "Running");
      expect(current.reason).toBe(isPast ? "DeadlineExceeded" : undefined);
      expect(current.conditions?.[0]).toMatchObject(
        isPast ? { type: "Ready", status: "False", reason: "PodFailed" } : { type: "Ready", status: "True" },
      );
      deadline.apply(pod, running);
      expect(told).toEqual(isPast ? ["DeadlineExceeded", "DeadlineExceeded"] : []);
    });
  }

  test("a pod that has succeeded in the API stays so", async () => {
    const clock = new FakeClock();
    const status: V1PodStatus = { phase: "Succeeded", startTime: started };
    const deadline = new ActiveDeadline({
      statusManager: { getPodStatus: () => status },
      recorder: { event: () => undefined },
      clock,
    });
    await clock.advance(60_000);
    const pod = makePod("a", { spec: { activeDeadlineSeconds: 60 }, status });
    expect(deadline.apply(pod, status)).toMatchObject({
      phase: "Succeeded",
      reason: "DeadlineExceeded",
      conditions: [{ reason: "PodCompleted" }, { reason: "PodCompleted" }],
    });
  });
});

describe("a pod leaves the API when it uses nothing any more", () => {
  const none = { mayRun: false, volumes: false };
  const table: [string, Partial<typeof none>, V1PodStatus, boolean][] = [
    ["nothing is left", {}, {}, true],
    ["its worker is not through", { mayRun: true }, {}, false],
    ["its status says that it runs", {}, { containerStatuses: [containerStatus({ state: { running: {} } })] }, false],
    [
      "dead containers are left",
      {},
      { containerStatuses: [containerStatus({ state: { terminated: { exitCode: 0 } } })] },
      true,
    ],
    ["a volume is there", { volumes: true }, {}, false],
  ];
  for (const [what, is, status, isReclaimed] of table) {
    test(`${what}: ${isReclaimed}`, () => {
      const { mayRun, volumes } = { ...none, ...is };
      const safety = new PodDeletionSafety({
        podWorkers: () => ({ couldHaveRunningContainers: () => mayRun }),
        volumes: { podVolumesExist: () => volumes },
        trace: recordingTrace(new FakeClock()).trace,
      });
      expect(safety.podResourcesAreReclaimed(makePod("a"), status)).toBe(isReclaimed);
    });
  }

  test("then the status manager is notified at once; several notifications count as one", async () => {
    let batches = 0;
    const pod = makePod("a", { metadata: { deletionTimestamp: new Date(START_MS).toISOString() } });
    const pods = new ReclaimedPods(
      {
        podManager: { getPodByUid: (uid) => (uid === "uid-a" ? pod : makePod("lives")) },
        podDeletionSafety: { podResourcesAreReclaimed: () => true },
        statusManager: {
          getPodStatus: () => ({}),
          syncBatch: async () => {
            batches++;
            await settle(1);
          },
        },
      },
      signal,
    );
    pods.look("uid-lives");
    expect(batches).toBe(0);
    for (let i = 0; i < 5; i++) pods.look("uid-a");
    await settle();
    expect(batches).toBe(2);
  });
});

test("the node lists its 50 greatest images, each with five names", () => {
  const tags = ["1", "2", "3", "4", "5"].map((tag) => `busybox:${tag}`);
  const image = (sizeBytes: number) => ({
    id: "",
    repoTags: tags,
    repoDigests: ["busybox@sha256:0"],
    sizeBytes,
    pinned: false,
  });
  const list = toNodeImages(
    Array.from({ length: 60 }, (_, i) => image(i)),
    50,
  );
  expect(list).toHaveLength(50);
  expect(list[0]).toEqual({ names: ["busybox@sha256:0", ...tags.slice(0, 4)], sizeBytes: 59 });
  expect(toNodeImages([image(1), image(2)], -1)).toHaveLength(2);
  expect(toNodeImages([image(1)], 0)).toEqual([]);
});

test("the runtime gets the node's addresses once, and again after a failure or a change", async () => {
  const told: string[] = [];
  let isBroken = true;
  const runtime = {
    updatePodCidr: async (cidr: string) => {
      told.push(cidr);
      if (isBroken) throw new Error("not now");
    },
  };
  const cidr = new PodCidr({ runtime, trace: recordingTrace(new FakeClock()).trace });
  const node = (podCIDR?: string): NodeObject => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n" },
    spec: podCIDR === undefined ? {} : { podCIDR, podCIDRs: [podCIDR] },
  });
  await cidr.update(node(), signal);
  await cidr.update(node("10.0.1.0/24"), signal);
  isBroken = false;
  for (const range of ["10.0.1.0/24", "10.0.1.0/24", "10.0.2.0/24"]) await cidr.update(node(range), signal);
  expect(told).toEqual(["10.0.1.0/24", "10.0.1.0/24", "10.0.2.0/24"]);
});
