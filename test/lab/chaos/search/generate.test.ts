import { expect, test } from "vitest";
import { FAULTS } from "../../../../src/lab/chaos/faults.js";
import { INVARIANT_NAMES } from "../../../../src/lab/chaos/invariants.js";
import { parseScenario } from "../../../../src/lab/chaos/scenario.js";
import { scenarioOf } from "../../../../src/lab/chaos/search/explore.js";
import { scenarioText } from "../../../../src/lab/chaos/search/scenario-text.js";

const WANTED = { invariants: INVARIANT_NAMES, never: ["event=Killing"] };
const SCENARIOS = Array.from({ length: 300 }, (_, seed) => scenarioOf(seed, WANTED));

test("each random scenario is a valid file that says the same", () => {
  for (const one of SCENARIOS) expect(parseScenario(scenarioText(one), "random.yaml")).toEqual(one);
});

test("a seed always makes the same scenario, and another seed another one", () => {
  expect(scenarioOf(7, WANTED)).toEqual(SCENARIOS[7]);
  expect(scenarioOf(8, WANTED)).not.toEqual(SCENARIOS[7]);
});

test("every fault comes, and each that lasts is taken back", () => {
  const all = SCENARIOS.flatMap((one) => one.do);
  expect(new Set(all.map(({ fault }) => fault))).toEqual(new Set(Object.keys(FAULTS)));
  const lasting = all.filter((one) => FAULTS[one.fault]?.undo !== undefined && one.with["seconds"] === undefined);
  expect(lasting.filter((one) => one.for === undefined)).toEqual([]);
});
