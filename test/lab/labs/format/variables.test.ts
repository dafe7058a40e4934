import assert from "node:assert/strict";
import { test } from "vitest";
import type { LabDefinition } from "../../../../src/lab/labs/format/schema.js";
import { chooseValues, fill, fillAll, withNodesNamed } from "../../../../src/lab/labs/format/variables.js";
import { TINY_YAML, tinyLab } from "../../../support/tiny-lab.js";

const yaml = TINY_YAML.replace("vars:", "vars:\n  port: { between: [8000, 8003] }");

async function definition(): Promise<LabDefinition> {
  return (await tinyLab(yaml)).definition;
}

test("the same seed chooses the same values", async () => {
  const lab = await definition();
  for (const seed of [0, 1, 42, 999_999]) assert.deepEqual(chooseValues(lab, seed), chooseValues(lab, seed));
});

test("over some seeds every value comes, and none beside them", async () => {
  const lab = await definition();
  const seen = Array.from({ length: 60 }, (_, seed) => chooseValues(lab, seed));
  assert.deepEqual([...new Set(seen.map((one) => one["node"]))].sort(), ["atlas", "draco"]);
  assert.deepEqual([...new Set(seen.map((one) => one["port"]))].sort(), ["8000", "8001", "8002", "8003"]);
});

test("values go where their names are; a name without a value stays", () => {
  assert.equal(fill("{{a}} and {{b}} and {{ a }}", { a: "1" }), "1 and {{b}} and {{ a }}");
  assert.deepEqual(fillAll({ x: ["{{a}}", 3, { y: "{{a}}{{a}}" }], z: null }, { a: "v" }), {
    x: ["v", 3, { y: "vv" }],
    z: null,
  });
});

test("nodes get other names wherever they are named, and nothing else does", () => {
  const lab = {
    a: "kubectl get node node-1",
    b: ["{{pod}}-node-2", "worker-node", "node-100-x"],
    "node-1": "a.node-1/x",
  };
  assert.deepEqual(withNodesNamed(lab, "lab-node-"), {
    a: "kubectl get node lab-node-1",
    b: ["{{pod}}-lab-node-2", "worker-node", "node-100-x"],
    "node-1": "a.lab-node-1/x",
  });
});
