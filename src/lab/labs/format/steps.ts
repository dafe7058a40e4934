import { MessageError } from "../../../util/i18n/message-error.js";
import { nearest } from "../../../util/text/nearest.js";
import { outputsAskedFor } from "./references.js";
import type { Check, DoStep, LabDefinition, Step } from "./schema.js";

export type StepType = "read" | "do" | "predict" | "observe" | "check";

/** The check that decides whether a step is done. */
export function checkOf(step: Step): Check | undefined {
  if ("check" in step) return step.check;
  return "do" in step ? step.expect : undefined;
}

/** The kinds of steps, by their names in lab.yaml. */
export function typeOf(step: Step): StepType {
  if ("do" in step) return "do";
  if ("predict" in step) return "predict";
  if ("observe" in step) return "observe";
  return "check" in step ? "check" : "read";
}

/**
 * Whether a lab detects that a step's command ran in another terminal: the step has a check, and no part of the lab
 * uses the command's output.
 */
export function isNoticed(step: DoStep, definition: LabDefinition): boolean {
  return step.expect !== undefined && !outputsAskedFor(definition).includes(step.id);
}

/** @throws MessageError USAGE for an answer to a step without a question, or one that is not among its choices */
export function checkChoice(step: Step, given: string): void {
  const { id } = step;
  if (!("predict" in step)) {
    const isFor =
      "do" in step ? "doHint" : "observe" in step ? "observeHint" : "check" in step ? "checkHint" : "readHint";
    throw new MessageError("USAGE", ["asksNothing", { step: id, given }], [isFor]);
  }
  if (step.predict.includes(given)) return;
  const like = nearest(step.predict, given);
  const values = { step: id, given };
  throw new MessageError(
    "USAGE",
    like === undefined ? ["noSuchChoice", values] : ["noSuchChoiceNearest", { ...values, nearest: like }],
    ["noSuchChoiceHint", { choices: step.predict.join(", ") }],
  );
}
