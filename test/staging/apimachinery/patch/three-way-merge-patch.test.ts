import assert from "node:assert/strict";
import { test } from "vitest";
import { applyMergePatch } from "../../../../src/staging/apimachinery/patch/merge-patch.js";
import { applyStrategicMergePatch } from "../../../../src/staging/apimachinery/patch/strategic-merge-patch.js";
import { threeWayMergePatch } from "../../../../src/staging/apimachinery/patch/three-way-merge-patch.js";

type Json = Record<string, unknown>;

const pod = (spec: Json): Json => ({ metadata: {}, spec });

/** kubectl 1.32 sends the same (`apply -v=9` prints it). */
const table: readonly (readonly [string, string, Json, Json, Json, Json])[] = [
  // rule, type, applied before, applied now, on the server, patch
  ["nothing differs", "ConfigMap", { data: { a: "1" } }, { data: { a: "1" } }, { data: { a: "1", b: "2" } }, {}],
  [
    "a value changes",
    "ConfigMap",
    { data: { a: "1" } },
    { data: { a: "2" } },
    { data: { a: "1" } },
    { data: { a: "2" } },
  ],
  ["null in the file", "ConfigMap", {}, { data: { a: null } }, { data: { a: "1" } }, { data: { a: null } }],
  [
    "null on the server",
    "Pod",
    { metadata: { creationTimestamp: null } },
    { metadata: {} },
    { metadata: { creationTimestamp: null } },
    {},
  ],
  [
    "what only the server has stays, what the file no longer has goes",
    "ConfigMap",
    { data: { colour: "blue", size: "small" } },
    { data: { colour: "green" } },
    { data: { colour: "blue", size: "small", mood: "calm" } },
    { data: { colour: "green", size: null } },
  ],
  [
    "defaults of a container are no difference",
    "Pod",
    pod({ containers: [{ name: "a", image: "x" }] }),
    pod({ containers: [{ name: "a", image: "x" }] }),
    pod({ containers: [{ name: "a", image: "x", imagePullPolicy: "Always" }], restartPolicy: "Always" }),
    {},
  ],
  [
    "one element of a list changes",
    "Pod",
    pod({ containers: [{ name: "a", image: "x" }, { name: "b" }] }),
    pod({ containers: [{ name: "a", image: "y" }, { name: "b" }] }),
    pod({ containers: [{ name: "a", image: "x", tty: true }, { name: "b" }] }),
    {
      spec: { containers: [{ name: "a", image: "y" }], "$setElementOrder/containers": [{ name: "a" }, { name: "b" }] },
    },
  ],
  [
    "one element of a list goes",
    "Pod",
    pod({ containers: [{ name: "a" }, { name: "b" }] }),
    pod({ containers: [{ name: "a" }] }),
    pod({ containers: [{ name: "a" }, { name: "b" }, { name: "injected" }] }),
    { spec: { containers: [{ $patch: "delete", name: "b" }], "$setElementOrder/containers": [{ name: "a" }] } },
  ],
  [
    "a union changes its member",
    "Pod",
    pod({ volumes: [{ name: "v", emptyDir: {} }] }),
    pod({ volumes: [{ name: "v", configMap: { name: "c" } }] }),
    pod({ volumes: [{ name: "v", emptyDir: {} }] }),
    {
      spec: {
        volumes: [{ name: "v", emptyDir: null, configMap: { name: "c" }, $retainKeys: ["configMap", "name"] }],
        "$setElementOrder/volumes": [{ name: "v" }],
      },
    },
  ],
  [
    "a set of plain values",
    "Pod",
    { metadata: { finalizers: ["a", "b"] } },
    { metadata: { finalizers: ["a", "c"] } },
    { metadata: { finalizers: ["a", "b", "server"] } },
    {
      metadata: {
        finalizers: ["c"],
        "$deleteFromPrimitiveList/finalizers": ["b"],
        "$setElementOrder/finalizers": ["a", "c"],
      },
    },
  ],
  [
    "a list without a merge key is replaced",
    "Pod",
    pod({ containers: [{ name: "a", args: ["1"] }] }),
    pod({ containers: [{ name: "a", args: ["2", "3"] }] }),
    pod({ containers: [{ name: "a", args: ["1"] }] }),
    { spec: { containers: [{ name: "a", args: ["2", "3"] }], "$setElementOrder/containers": [{ name: "a" }] } },
  ],
];

test.each(table)("three-way: %s", (_, type, original, modified, current, patch) => {
  assert.deepEqual(threeWayMergePatch({ original, modified, current }, type), patch);
  const patched = applyStrategicMergePatch(current, structuredClone(patch), type);
  assert.deepEqual(
    threeWayMergePatch({ original: modified, modified, current: patched }, type),
    {},
    "applied once more",
  );
});

test("three-way without a type is a JSON merge patch, which replaces lists", () => {
  const original = { list: [{ name: "a" }], gone: 1 };
  const modified = { list: [{ name: "b" }] };
  const patch = threeWayMergePatch({ original, modified, current: { ...original, own: true } }, undefined);
  assert.deepEqual(patch, { list: [{ name: "b" }], gone: null });
  assert.deepEqual(applyMergePatch({ ...original, own: true }, patch), { list: [{ name: "b" }], own: true });
});
