import assert from "node:assert/strict";
import { test } from "vitest";
import { plegRecords } from "../../../src/commands/inspector/pleg-records.js";
import type { KnownPod } from "../../../src/testbed/pleg/known-pods.js";
import type { LabTarget } from "../../../src/testbed/runtime/lab-runtime.js";

const container = (containerId: string, name: string, state: "running" | "exited") =>
  ({ containerId, name, state }) as KnownPod["containers"][number];
const known = {
  podUid: "u",
  namespace: "default",
  name: "web",
  containers: [container("c1", "app", "running"), container("c2", "old", "exited")],
  sandboxes: [container("s1", "sandbox", "running")],
} as unknown as KnownPod;
const target = (id: string, name: string, state: string): LabTarget => {
  return { kind: "container", id, sandboxId: "s1", pod: "default/web", name, state };
};

test("each container stands with what the runtime has and what PLEG knows, also if only one of them has it", () => {
  const targets = [target("c1", "app", "exited"), target("s1", "sandbox", "running"), target("c3", "new", "created")];
  assert.deepEqual(plegRecords([known], targets), {
    title: "PLEG records",
    columns: ["container", "runtime has", "PLEG knows"],
    rows: [
      ["web app c1", "exited", "running"],
      ["web old c2", "removed", "exited"],
      ["web sandbox s1", "running", "running"],
      ["web new c3", "created", "not seen yet"],
    ],
  });
});

test("of a runtime that is not ours only PLEG's side is known", () => {
  const { columns, rows } = plegRecords([known], undefined);
  assert.deepEqual(
    [columns, rows[0]],
    [
      ["container", "PLEG knows"],
      ["web app c1", "running"],
    ],
  );
});
