import assert from "node:assert/strict";
import { test } from "vitest";
import { fieldOf } from "../../src/labs/field.js";

const node = {
  metadata: { name: "n1", labels: { "a/b": "yes", "node.kubernetes.io/x": "" } },
  spec: { taints: [{ key: "one" }, { key: "two" }] },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "MemoryPressure", status: "False" },
    ],
    count: 0,
    nothing: null,
  },
};

const table: readonly (readonly [string, unknown])[] = [
  ["metadata.name", "n1"],
  ["metadata.labels['a/b']", "yes"],
  ["metadata.labels['node.kubernetes.io/x']", ""],
  ["status.conditions[type=Ready].status", "True"],
  ["status.conditions[type=Gone].status", undefined],
  ["status.conditions[1].type", "MemoryPressure"],
  ["status.conditions[9].type", undefined],
  ["spec.taints[*].key", ["one", "two"]],
  ["spec.volumes[*].name", []],
  ["status.count", 0],
  ["status.nothing", undefined],
  ["metadata.name.more", undefined],
  ["spec.taints.key", undefined],
];

for (const [path, want] of table) {
  test(`field ${path}`, () => assert.deepEqual(fieldOf(node, path), want));
}

for (const path of ["a[", "a b", "a[b]", "a..['x"]) {
  test(`the path ${path} cannot be read, and it says from where on`, () => {
    assert.throws(() => fieldOf(node, path), /is invalid from character \d+/);
  });
}
