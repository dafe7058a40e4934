import { expect, test } from "vitest";
import type { Scenario } from "../../../../src/lab/chaos/scenario.js";
import { shrink } from "../../../../src/lab/chaos/search/shrink.js";

const POD = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" } };
const OTHER = { apiVersion: "v1", kind: "Pod", metadata: { name: "other" } };

const LARGE: Scenario = {
  title: "large",
  nodes: 3,
  objects: [POD, OTHER],
  do: [
    { when: { at: 40_000 }, fault: "node-stop", with: { node: "node-2" }, for: 60_000 },
    {
      when: { at: 9_000 },
      fault: "runtime-fault",
      with: { node: "node-1", rpc: "*", hangs: true, count: 3 },
      for: 30_000,
    },
  ],
  expect: [],
  invariants: ["no-pod-lost"],
};

/** Fails as long as the web pod is there and its node's runtime hangs for 5 s. */
const fails = async ({ objects, do: faults }: Scenario) =>
  objects.includes(POD) && faults.some(({ fault, for: ms = 0 }) => fault === "runtime-fault" && ms >= 5_000);

test("what the failure does not need is left out", async () => {
  expect(await shrink(LARGE, fails, 100)).toEqual({
    ...LARGE,
    nodes: 1,
    objects: [POD],
    do: [{ when: { at: 0 }, fault: "runtime-fault", with: { node: "node-1", rpc: "*", hangs: true }, for: 7_000 }],
  });
});

test("a node that a fault names stays", async () => {
  const needsStop = async ({ do: faults }: Scenario) => faults.some(({ fault }) => fault === "node-stop");
  expect((await shrink(LARGE, needsStop, 100)).nodes).toBe(2);
});

test("it ends after the most runs, with the smallest scenario so far", async () => {
  let runs = 0;
  const counted = (one: Scenario) => {
    runs++;
    return fails(one);
  };
  expect((await shrink(LARGE, counted, 2)).do).toHaveLength(1);
  expect(runs).toBe(2);
});
