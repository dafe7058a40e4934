import assert from "node:assert/strict";
import { test } from "vitest";
import { containerOf } from "../../../src/lab/kubectl/default-container.js";

const ANNOTATION = "kubectl.kubernetes.io/default-container";
const containers = [{ name: "a" }, { name: "b" }];
const others = { initContainers: [{ name: "i" }], ephemeralContainers: [{ name: "e" }] };

const table: readonly (readonly [string, object, object, string | undefined, string, string[]])[] = [
  ["the only one", {}, { containers: [{ name: "a" }] }, undefined, "a", []],
  ["the first of several", {}, { containers }, undefined, "a", ['Defaulted container "a" out of: a, b']],
  [
    "all kinds",
    {},
    { containers, ...others },
    undefined,
    "a",
    ['Defaulted container "a" out of: a, b, e (ephem), i (init)'],
  ],
  ["that of the annotation", { [ANNOTATION]: "b" }, { containers }, undefined, "b", []],
  [
    "an annotation that names none",
    { [ANNOTATION]: "c" },
    { containers },
    undefined,
    "a",
    ['Default container name "c" not found in pod p', 'Defaulted container "a" out of: a, b'],
  ],
  ["the one of -c", { [ANNOTATION]: "b" }, { containers, ...others }, "i", "i", []],
];
test.each(table)("%s", (_, annotations, spec, name, chosen, warned) => {
  const warnings: string[] = [];
  const pod = { metadata: { name: "p", annotations }, spec } as unknown as Parameters<typeof containerOf>[1];
  assert.equal(containerOf({ warn: (line) => void warnings.push(line) }, pod, name), chosen);
  assert.deepEqual(warnings, warned);
});

test("a container that the pod lacks is refused with the names it has", () => {
  const pod = { metadata: { name: "p" }, spec: { containers } } as unknown as Parameters<typeof containerOf>[1];
  const expected = { code: "FAILED", message: "container c is not valid for pod p", hint: "It has: a, b." };
  assert.throws(() => containerOf({ warn: () => undefined }, pod, "c"), expected);
});
