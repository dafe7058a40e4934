import { outputsAskedFor } from "./references.js";
import type { Check, DoStep, LabDefinition, Step } from "./schema.js";

export type StepType = "read" | "do" | "predict" | "observe" | "check";

/** What says whether a step is done. */
export function checkOf(step: Step): Check | undefined {
  if ("check" in step) return step.check;
  return "do" in step ? step.expect : undefined;
}

/** As lab.yaml names them. */
export function typeOf(step: Step): StepType {
  if ("do" in step) return "do";
  if ("predict" in step) return "predict";
  if ("observe" in step) return "observe";
  return "check" in step ? "check" : "read";
}

/**
 * Whether a lab sees by itself that a step's command was typed in another terminal: its check can tell, and nothing in the lab
 * looks at what it printed.
 */
export function isNoticed(step: DoStep, definition: LabDefinition): boolean {
  return step.expect !== undefined && !outputsAskedFor(definition).includes(step.id);
}
