import { z } from "zod";
import { SCENARIO } from "./scenario.js";

/** The JSON schema of scenario files, by which editors complete and check them. */
export function scenarioSchema(): Readonly<Record<string, unknown>> {
  return { ...z.toJSONSchema(SCENARIO, { io: "input" }), title: "A scenario of kubelab chaos" };
}
