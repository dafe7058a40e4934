import type { LabDefinition, Step } from "../format/schema.js";
import { isNoticed, typeOf } from "../format/steps.js";
import type { LabText, StepText } from "../format/text.js";
import type { LabMessage } from "./message.js";

const NO_TEXT: StepText = { title: "", body: "", choices: {}, hints: [], goal: "", mistakes: {}, afterwards: "" };

/** The text of a step; empty if it has no text. Pure. */
export function textOfStep(text: LabText, step: Step | undefined): StepText {
  return text.steps[step?.id ?? ""] ?? NO_TEXT;
}

/** A choice of a prediction, as the learner reads it. */
export interface StepChoice {
  readonly key: string;
  readonly text: string;
}

/** The choices of a step in the text's language, if it is a prediction. Pure. */
export function choicesOf(step: Step | undefined, { choices }: StepText): readonly StepChoice[] {
  if (step === undefined || !("predict" in step)) return [];
  return step.predict.map((key) => ({ key, text: choices[key] ?? key }));
}

/** The texts on the learner's screen before a step is done, in the text's language. Pure. */
export function messagesOfStep(definition: LabDefinition, text: LabText, step: Step): readonly LabMessage[] {
  const { steps } = definition;
  const stepText = textOfStep(text, step);
  const { title, body } = stepText;
  return [
    { kind: "step", id: step.id, type: typeOf(step), title, index: steps.indexOf(step) + 1, count: steps.length },
    { kind: "text", markdown: body },
    ...("do" in step
      ? [{ kind: "command", line: step.do, where: step.where, isNoticed: isNoticed(step, definition) } as const]
      : []),
    ...("predict" in step
      ? [{ kind: "question", choices: choicesOf(step, stepText), isIncident: definition.kind === "incident" } as const]
      : []),
  ];
}
