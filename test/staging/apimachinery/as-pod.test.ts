import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import { asPod } from "../../../src/staging/apimachinery/api/pod.js";

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default", uid: "u1" },
  spec: { containers: [{ name: "c" }] },
  status: {},
};

test("an object with an identity is a pod, also without a spec", () => {
  assert.equal(asPod(POD)?.spec.containers[0]?.name, "c");
  const { spec: _spec, status: _status, ...bare } = POD;
  assert.deepEqual([asPod(bare)?.spec, asPod(bare)?.status], [{}, {}]);
});

const table: readonly (readonly [string, object])[] = [
  ["a uid that leaves its folder", { metadata: { ...POD.metadata, uid: "../../etc" } }],
  ["a namespace that leaves its folder", { metadata: { ...POD.metadata, namespace: ".." } }],
  ["a name with a slash", { metadata: { ...POD.metadata, name: "a/b" } }],
  ["a name with a NUL", { metadata: { ...POD.metadata, name: "a\0b" } }],
  ["no uid", { metadata: { name: "web", namespace: "default" } }],
  ["a spec that is a text", { spec: "x" }],
  ["a status that is a list", { status: [] }],
  ["containers that are no list", { spec: { containers: {} } }],
  ["a container that is null", { spec: { containers: [null] } }],
  ["a volume without a name", { spec: { containers: [], volumes: [{}] } }],
];
for (const [what, change] of table) {
  test(`${what}: not a pod`, () => {
    assert.equal(asPod({ ...POD, ...change } as KubeObject), undefined);
  });
}
