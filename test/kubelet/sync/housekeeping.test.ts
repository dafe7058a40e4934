import { describe, expect, test } from "vitest";
import type { Pod } from "../../../src/kubelet/container/runtime.js";
import { PodManager } from "../../../src/kubelet/pod/pod-manager.js";
import type { PodWorkerState } from "../../../src/kubelet/podworkers/sync-status.js";
import { handlePodCleanups } from "../../../src/kubelet/sync/housekeeping.js";
import type { V1Pod, V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { MIRROR_POD_ANNOTATION } from "../../../src/staging/apimachinery/corev1/pod-references.js";
import { FakeClock } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";
import { makePod } from "../podworkers/pods.js";

interface Scene {
  readonly pods?: readonly V1Pod[];
  readonly workers?: Readonly<Record<string, PodWorkerState>>;
  readonly running?: readonly string[];
  readonly dirs?: readonly string[];
  readonly mounted?: readonly string[];
  readonly mirrorEnding?: boolean;
  readonly statuses?: Readonly<Record<string, V1PodStatus>>;
}

const runtimePod = (podUid: string): Pod => ({
  podUid,
  name: podUid,
  namespace: "default",
  createdAtMs: 0,
  containers: [],
  sandboxes: [],
});

async function clean(scene: Scene): Promise<string[]> {
  const done: string[] = [];
  const clock = new FakeClock();
  const { trace } = recordingTrace(clock);
  const podManager = new PodManager();
  podManager.setPods(scene.pods ?? []);
  await handlePodCleanups(
    {
      podManager,
      podWorkers: {
        syncKnownPods: () => new Map(Object.entries(scene.workers ?? {})),
        updatePod: ({ runningPod, killPodOptions }) => {
          done.push(`kill ${runningPod?.podUid} ${killPodOptions?.podTerminationGracePeriodSecondsOverride}`);
        },
        isPodForMirrorPodTerminatingByFullName: () => scene.mirrorEnding === true,
      },
      statusManager: {
        getPodStatus: (uid) => scene.statuses?.[uid],
        removeOrphanedStatuses: (uids) => done.push(`keep statuses of ${[...uids].sort().join(",")}`),
      },
      runtime: { getPods: async () => (scene.running ?? []).map(runtimePod) },
      prober: { cleanupPods: (uids) => done.push(`probe ${[...uids].join(",")}`) },
      volumes: { podVolumesExist: (uid) => scene.mounted?.includes(uid) === true },
      mirrorClient: {
        deleteMirrorPod: async (fullName, uid) => {
          done.push(`delete mirror ${fullName} ${uid}`);
          return { type: "deleted" };
        },
      },
      podDirs: {
        listPods: async () => [...(scene.dirs ?? [])],
        removePodDir: async (uid) => void done.push(`remove dir ${uid}`),
      },
      handlers: { dispatchWork: (pod, type) => done.push(`${type} ${pod.metadata.uid}`) },
      backOff: { gc: () => {} },
      clock,
      trace,
    },
    new AbortController().signal,
  );
  return done;
}

const mirror = makePod("web", { uid: "mirror", metadata: { annotations: { [MIRROR_POD_ANNOTATION]: "h" } } });

describe("housekeeping", () => {
  const table: [string, Scene, string, boolean][] = [
    ["ends what runs and nobody wants", { running: ["x"] }, "kill x 1", true],
    ["lets a pod alone that its worker looks after", { running: ["x"], workers: { x: "SyncPod" } }, "kill x 1", false],
    ["... or is ending already", { running: ["x"], workers: { x: "TerminatingPod" } }, "kill x 1", false],
    ["... or a source has", { running: ["uid-a"], pods: [makePod("a")] }, "kill uid-a 1", false],
    ["a worker that is through has missed it", { running: ["x"], workers: { x: "TerminatedPod" } }, "kill x 1", true],
    ["stops probes of what does not run", { workers: { x: "SyncPod", y: "TerminatingPod" } }, "probe x", true],
    ["keeps statuses of pods and mirror pods", { pods: [makePod("a"), mirror] }, "keep statuses of mirror,uid-a", true],
    ["removes folders of pods that are gone", { dirs: ["x"] }, "remove dir x", true],
    ["... not of those that a source has", { dirs: ["uid-a"], pods: [makePod("a")] }, "remove dir uid-a", false],
    ["... nor of those that run", { dirs: ["x"], running: ["x"] }, "remove dir x", false],
    ["... nor while a worker has it", { dirs: ["x"], workers: { x: "TerminatedPod" } }, "remove dir x", false],
    ["... nor while volumes are there", { dirs: ["x"], mounted: ["x"] }, "remove dir x", false],
    ["deletes mirror pods whose static pod is gone", { pods: [mirror] }, "delete mirror web_default undefined", true],
    [
      "... but not before it has ended",
      { pods: [mirror], mirrorEnding: true },
      "delete mirror web_default undefined",
      false,
    ],
    [
      "starts a pod that came back with its uid",
      { pods: [makePod("a")], workers: { "uid-a": "TerminatedAndRecreatedPod" } },
      "create uid-a",
      true,
    ],
    [
      "... unless it is over",
      {
        pods: [makePod("a")],
        workers: { "uid-a": "TerminatedAndRecreatedPod" },
        statuses: { "uid-a": { phase: "Succeeded" } },
      },
      "create uid-a",
      false,
    ],
  ];
  for (const [what, scene, line, isDone] of table) {
    test(what, async () => {
      const done = await clean(scene);
      expect(done.includes(line), `${line} in ${JSON.stringify(done)}`).toBe(isDone);
    });
  }
});
