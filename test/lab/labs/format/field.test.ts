import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { fieldInWords, fieldOf } from "../../../../src/lab/labs/format/field.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";

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

describe("a field in a learner's words", () => {
  const words: readonly (readonly [string, string])[] = [
    ["status.phase", "phase"],
    ["metadata.deletionTimestamp", "deletionTimestamp"],
    ["data.mood", "data.mood"],
    ["status.conditions[type=Ready].status", "condition Ready"],
    ["status.conditions[type=Ready].reason", "reason of condition Ready"],
    ["spec.template.spec.containers[name=main].image", "image of container main"],
    ["status.containerStatuses[0].restartCount", "restartCount of the first container"],
    ["status.initContainerStatuses[name=check].state.running", "state.running of init container check"],
    ["spec.template.metadata.labels.app", "label app"],
    ["metadata.annotations['deployment.kubernetes.io/revision']", "annotation deployment.kubernetes.io/revision"],
    ["subsets[0].addresses[1].ip", "subsets[0].addresses[1].ip"],
    ["spec.tolerations[*]", "tolerations[*]"],
  ];
  for (const [path, wanted] of words) test(path, () => assert.equal(fieldInWords(path, sayIn("en")), wanted));
});

describe("a field in Chinese words has spaces beside Latin text only", () => {
  const say = sayIn("zh");
  const words: readonly (readonly [object: string, path: string, string])[] = [
    ["pod wiki", "spec.containers[0].image", "pod wiki 的第一个 container 的 image 为 nginx"],
    ["pod wiki", "status.phase", "pod wiki 的 phase 为 nginx"],
    ["pod wiki", "spec.containers[0]", "pod wiki 的第一个 container 为 nginx"],
  ];
  for (const [object, path, wanted] of words) {
    test(wanted, () => {
      const what = say("fieldOfObject", { field: fieldInWords(path, say), object });
      assert.equal(say("seenIs", { what, value: "nginx" }), wanted);
    });
  }

  test("a count", () => {
    const list = say("listIn", { resource: "pods", namespace: "default" });
    const what = say("countOfWhere", { list, where: "status.phase = Failed" });
    assert.equal(say("seenIs", { what, value: 1 }), "default 中的 pods（status.phase = Failed）的数量为 1");
  });
});
