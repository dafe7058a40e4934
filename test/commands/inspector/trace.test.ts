import assert from "node:assert/strict";
import { test } from "vitest";
import { inspectorTrace, type LevelInInspector } from "../../../src/commands/inspector/trace.js";
import { showsPodManager } from "../../../src/commands/pod-manager/inspector.js";
import { showsPodWorkers } from "../../../src/commands/pod-worker/inspector.js";
import { showsStaticPods } from "../../../src/commands/static-pod/inspector.js";
import type { Fact } from "../../../src/trace/events.js";
import type { Level } from "../../../src/trace/trace.js";
import { FakeClock } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

const decision = (file: string, func = "f"): Fact => ({
  kind: "decision",
  what: "w",
  why: "y",
  upstream: { file, func },
});
const MERGE = decision("pkg/kubelet/config/config.go");
const MIRROR = decision("pkg/kubelet/pod/mirror_client.go");
const SYNC_POD = decision("pkg/kubelet/kubelet.go", "syncPod");
const WORKER = decision("pkg/kubelet/pod_workers.go");
const LEASE = decision("k8s.io/component-helpers/apimachinery/lease/controller.go");
const PLEG: Fact = { kind: "note", text: 'SyncLoop (PLEG): event for pod pod="a/b"' };
const POD_EVENT: Fact = { kind: "event", type: "Normal", reason: "Started", message: "m", object: "Pod/a/b" };
const NODE_EVENT: Fact = { ...POD_EVENT, object: "Node/n" };
const ERROR: Fact = { kind: "error", message: "m" };

/** fact, its own level, and from which -v on each window shows it */
const table: readonly [string, Fact, Level, Record<"staticPod" | "podManager" | "podWorker", Level>][] = [
  ["what a source brings", MERGE, 1, { staticPod: 1, podManager: 1, podWorker: 2 }],
  ["a mirror pod", MIRROR, 1, { staticPod: 1, podManager: 1, podWorker: 2 }],
  ["a sync that replaces a mirror pod", SYNC_POD, 1, { staticPod: 1, podManager: 1, podWorker: 2 }],
  ["a worker", WORKER, 1, { staticPod: 1, podManager: 2, podWorker: 1 }],
  ["a merged update", WORKER, 2, { staticPod: 2, podManager: 2, podWorker: 1 }],
  ["an event of PLEG for a pod", PLEG, 2, { staticPod: 2, podManager: 2, podWorker: 1 }],
  ["an event of a pod", POD_EVENT, 1, { staticPod: 1, podManager: 2, podWorker: 2 }],
  ["an event of the node", NODE_EVENT, 1, { staticPod: 2, podManager: 2, podWorker: 2 }],
  ["a lease", LEASE, 1, { staticPod: 2, podManager: 2, podWorker: 2 }],
  ["what a server decided", LEASE, 3, { staticPod: 3, podManager: 3, podWorker: 3 }],
  ["an error", ERROR, 0, { staticPod: 0, podManager: 0, podWorker: 0 }],
];
const WINDOWS: Record<"staticPod" | "podManager" | "podWorker", LevelInInspector> = {
  staticPod: showsStaticPods,
  podManager: showsPodManager,
  podWorker: showsPodWorkers,
};

for (const [name, fact, level, wanted] of table) {
  for (const inspector of ["staticPod", "podManager", "podWorker"] as const) {
    test(`${inspector} shows ${name} under -v ${wanted[inspector]}`, () => {
      const clock = new FakeClock();
      const { trace, events } = recordingTrace(clock);
      inspectorTrace(trace, WINDOWS[inspector]).emit(fact, { actor: "kubelet", level });
      assert.deepEqual(
        events.map((event) => event.level),
        [wanted[inspector]],
      );
    });
  }
}
