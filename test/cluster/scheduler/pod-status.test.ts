import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { SchedulablePod } from "../../../src/cluster/scheduler/objects.js";
import {
  type StatusChange,
  statusPatch,
  withoutNomination,
  withSchedulingFailure,
} from "../../../src/cluster/scheduler/pod-status.js";
import { applyStrategicMergePatch } from "../../../src/staging/apimachinery/patch/strategic-merge-patch.js";
import { makePod } from "./fixtures.js";

const NOW = Date.UTC(2026, 0, 1);
const failing = (message: string, nominatedNodeName?: string): StatusChange => ({
  reason: "Unschedulable",
  message,
  nominatedNodeName,
});
const fail = (pod: SchedulablePod, change: StatusChange) => withSchedulingFailure(pod, change, NOW);

describe("the patch of a pod's status", () => {
  const fresh = makePod("p");
  const waiting = fail(fresh, failing("no room"));
  const nominated = fail(fresh, failing("no room", "n1"));
  const [condition] = waiting.status?.conditions ?? [];
  const table: readonly (readonly [string, SchedulablePod, SchedulablePod, unknown])[] = [
    ["a new condition is whole", fresh, waiting, { conditions: [condition] }],
    [
      "of a known condition only what changes",
      waiting,
      fail(waiting, failing("no memory")),
      {
        conditions: [{ type: "PodScheduled", message: "no memory" }],
      },
    ],
    ["a nomination alone", waiting, fail(waiting, failing("no room", "n1")), { nominatedNodeName: "n1" }],
    ["null removes a nomination", nominated, withoutNomination(nominated), { nominatedNodeName: null }],
    ["nothing to change", waiting, fail(waiting, failing("no room")), undefined],
  ];
  for (const [name, before, after, want] of table) {
    test(name, () => {
      const patch = statusPatch(before, after);
      assert.deepEqual(patch?.["status"], want);
      if (patch === undefined) return;
      assert.equal(patch.metadata.uid, before.metadata.uid ?? "");
      const { status } = applyStrategicMergePatch({ ...before }, structuredClone({ status: want }), "Pod");
      assert.deepEqual(status, after.status);
    });
  }
});
