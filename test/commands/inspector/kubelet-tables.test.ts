import assert from "node:assert/strict";
import { test } from "vitest";
import { podWorkers } from "../../../src/commands/inspector/kubelet-tables.js";
import type { PodWorkerView } from "../../../src/kubelet/podworkers/pod-workers.js";
import type { PodWork } from "../../../src/kubelet/podworkers/update.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";

const work = (merged: number): PodWork => {
  return { workType: "sync", updateType: "update", pod: {} as V1Pod, merged };
};
const flags = { working: true, evicted: false, deleted: false, restartRequested: false };
const view = (podUid: string, activity: PodWorkerView["activity"], pending?: PodWork): PodWorkerView => {
  return { podUid, fullName: `${podUid}_default`, phase: "syncing", ...flags, activity, pending };
};

test("a pod worker stands with what it does, and with the update that waits for it", () => {
  const views = [
    view("a", { kind: "idle" }),
    view("b", { kind: "sync", work: work(1), sinceMs: 0 }, work(9)),
    view("c", { kind: "cache", newerThanMs: 0, sinceMs: 0 } as PodWorkerView["activity"]),
    view("d", { kind: "cache", newerThanMs: 0, sinceMs: 0 } as PodWorkerView["activity"]),
  ];
  assert.deepEqual(podWorkers(views, (podUid) => podUid === "d").rows, [
    ["default/a", "syncing", "idle", ""],
    ["default/b", "syncing", "sync (update)", "sync (9 merged, update)"],
    ["default/c", "syncing", "waits", ""],
    ["default/d", "syncing", "held", ""],
  ]);
});
