import { goDuration } from "../../../staging/apimachinery/time.js";
import { stringify } from "../../../util/yaml.js";
import type { Scenario } from "../scenario.js";

/** A scenario as the YAML file that `parseScenario` reads. */
export function scenarioText(scenario: Scenario): string {
  const faults = scenario.do.map(({ when, fault, with: args, for: lengthMs }) => ({
    when: typeof when === "string" ? when : { at: goDuration(when.at) },
    fault,
    ...(Object.keys(args).length === 0 ? {} : { with: args }),
    ...(lengthMs === undefined ? {} : { for: goDuration(lengthMs) }),
  }));
  const expect = scenario.expect.map(({ condition, from, within, never }) => ({
    condition,
    from: goDuration(from),
    within: goDuration(within),
    never,
  }));
  const { title, seed, nodes, objects, invariants } = scenario;
  return stringify({ title, ...(seed === undefined ? {} : { seed }), nodes, objects, do: faults, expect, invariants });
}
