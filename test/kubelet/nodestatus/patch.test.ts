import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "vitest";
import { nodeStatusHasChanged, nodeStatusPatch } from "../../../src/kubelet/nodestatus/patch.js";
import type { NodeObject, NodeStatus } from "../../../src/staging/apimachinery/api/node.js";

const RECORDING = "../shared/recordings/apiserver-v1.25/kubelet-client.json";
const TYPES = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];
const order = TYPES.map((type) => ({ type }));

const condition = (type: string, more: object = {}) => ({
  type,
  status: type === "Ready" ? ("True" as const) : ("False" as const),
  lastHeartbeatTime: "2026-01-01T00:00:00Z",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  reason: "R",
  message: "m",
  ...more,
});
const base: NodeStatus = {
  capacity: { cpu: "4", memory: "8Gi" },
  conditions: TYPES.map((type) => condition(type)),
  addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
};
const withReady = (more: object): NodeStatus => ({
  ...base,
  conditions: TYPES.map((type) => condition(type, type === "Ready" ? more : {})),
});

describe("nodeStatusPatch", () => {
  const table: readonly [string, NodeStatus, NodeStatus, object | undefined][] = [
    ["no change: no patch", base, base, undefined],
    [
      "one field of one condition: its type, the field, and the order of all",
      base,
      withReady({ message: "new" }),
      { "$setElementOrder/conditions": order, conditions: [{ type: "Ready", message: "new" }] },
    ],
    [
      "a field that goes: null",
      withReady({ extra: "x" }),
      base,
      { "$setElementOrder/conditions": order, conditions: [{ type: "Ready", extra: null }] },
    ],
    [
      "a condition that goes: a delete directive",
      { ...base, conditions: [...(base.conditions ?? []), condition("Gone")] },
      base,
      { "$setElementOrder/conditions": order, conditions: [{ $patch: "delete", type: "Gone" }] },
    ],
    [
      "a quantity: only this one",
      base,
      { ...base, capacity: { cpu: "4", memory: "9Gi" } },
      { capacity: { memory: "9Gi" } },
    ],
    ["a quantity that goes: null", base, { ...base, capacity: { cpu: "4" } }, { capacity: { memory: null } }],
    [
      "addresses: the whole list, replaced",
      base,
      { ...base, addresses: [{ type: "InternalIP", address: "10.0.0.2" }] },
      { addresses: [{ type: "InternalIP", address: "10.0.0.2" }, { $patch: "replace" }] },
    ],
    ["a field that appears", base, { ...base, volumesInUse: ["b"] }, { volumesInUse: ["b"] }],
  ];
  for (const [what, before, after, want] of table) {
    test(what, () =>
      assert.deepEqual(nodeStatusPatch(before, after), want === undefined ? undefined : { status: want }),
    );
  }
});

describe("nodeStatusHasChanged", () => {
  for (const [what, after, want] of [
    ["heartbeat times alone", withReady({ lastHeartbeatTime: "2026-01-01T00:05:00Z" }), false],
    ["the order of conditions", { ...base, conditions: [...(base.conditions ?? [])].reverse() }, false],
    ["a transition", withReady({ status: "Unknown" }), true],
    ["a message", withReady({ message: "x" }), true],
    ["capacity", { ...base, capacity: { cpu: "5", memory: "8Gi" } }, true],
  ] as const) {
    test(`${what}: ${want}`, () => assert.equal(nodeStatusHasChanged(base, after), want));
  }
});

interface RecordedRequest {
  readonly method?: string;
  readonly path?: string;
  readonly body?: unknown;
}

describe.skipIf(!existsSync(RECORDING))(`a real kubelet's patches (${RECORDING})`, () => {
  test("the two patches after registration come out the same", () => {
    const { timeline } = JSON.parse(readFileSync(RECORDING, "utf8")) as { timeline: RecordedRequest[] };
    const posted = timeline.find(({ method, path }) => method === "POST" && path === "/api/v1/nodes");
    const patches = timeline.filter(({ method, path }) => method === "PATCH" && path?.includes("/nodes/real-2/status"));
    assert.equal(patches.length, 2);
    let status: NodeStatus = (posted?.body as NodeObject | undefined)?.status ?? {};
    for (const { body } of patches) {
      const [change] = (body as { status: { conditions: object[] } }).status.conditions;
      const after: NodeStatus = {
        ...status,
        conditions: (status.conditions ?? []).map((one) => (one.type === "Ready" ? { ...one, ...change } : one)),
      };
      assert.deepEqual(nodeStatusPatch(status, after), body);
      status = after;
    }
  });
});
