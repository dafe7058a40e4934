import type { Say } from "../../../util/i18n/sentences.js";
import type { StoryFact, StoryStep, TraceEvent } from "../../events.js";
import type { SequenceStep } from "../sequence-svg.js";
import { isReceived, type Lane, whoIn } from "./lanes.js";
import type { Step } from "./step.js";

/** One step of a command's story, with its fact. */
export interface PlotStep extends StoryStep {
  /** 1, 2, 3, ... as in the terminal */
  readonly number: number;
  readonly step: Step;
  /** what a step sent that is no message itself, and whose messages are no steps of the story: its first write, or its first message */
  readonly sent: Step | undefined;
  /** who gets the answer, if this step is one */
  readonly answered: Lane | undefined;
}

/** What upstream writes an answer with. */
const WRITES_ANSWER = "WriteObjectNegotiated";

/** What a command told about its facts: the facts that a reader sees first, in its order. */
export interface Plot {
  readonly title: string;
  readonly steps: readonly PlotStep[];
  readonly byStep: ReadonlyMap<Step, PlotStep>;
  /** Unix ms */
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * The stories of a trace, the latest last. Facts of one title are one story. Steps whose facts are not in the trace keep their
 * number and are left out.
 * @param effectsOf what a step caused directly
 */
export function plotsOf(
  stories: readonly StoryFact[],
  stepOf: (id: string) => Step | undefined,
  effectsOf: (step: Step) => readonly Step[],
): readonly Plot[] {
  const byTitle = new Map<string, StoryStep[]>();
  for (const { title, steps } of stories) {
    const told = [...(byTitle.get(title) ?? []), ...steps];
    // The story that was told last is the latest one.
    byTitle.delete(title);
    byTitle.set(title, told);
  }
  return [...byTitle].flatMap(([title, told]) => {
    const isTold = new Set(told.map(({ fact }) => fact));
    const steps = told.flatMap((one, i): PlotStep[] => {
      const step = stepOf(one.fact);
      if (step === undefined) return [];
      const sent = sentBy(step, isTold, effectsOf);
      return [{ ...one, number: i + 1, step, sent, answered: answeredBy(step, stepOf) }];
    });
    if (steps.length === 0) return [];
    const byStep = new Map(steps.map((one) => [one.step, one]));
    const startMs = Math.min(...steps.map(({ step }) => step.startMs));
    const endMs = Math.max(...steps.map(({ step }) => step.event.atMs));
    return [{ title, steps, byStep, startMs, endMs }];
  });
}

/** Whether the fact is that an answer is written. */
export function isAnswer(event: TraceEvent): boolean {
  return event.kind === "decision" && event.upstream?.func === WRITES_ANSWER;
}

/** Who gets the answer that a step writes; undefined for other steps. */
export function answeredBy({ event }: Step, stepOf: (id: string) => Step | undefined): Lane | undefined {
  if (!isAnswer(event)) return undefined;
  const request = stepOf(event.causedBy ?? "");
  return request?.event.kind === "request" ? request.lane : undefined;
}

/** The steps of a story as those of a numbered sequence picture. */
export function sequenceOf(steps: readonly PlotStep[], beganMs: number, say: Say): SequenceStep[] {
  return steps.map(({ number, text, why = "", step, sent, answered }) => {
    const { event, lane, startMs, target = sent?.target ?? answered } = step;
    const who = whoIn(event, lane, say);
    return { number, who, lane, target, isReceived: isReceived(event), atMs: startMs - beganMs, text, small: why };
  });
}

/** A step is about what it changed; what it read before is the way there. */
function isWriting({ event }: Step): boolean {
  return event.kind === "request" && event.method !== "GET";
}

/** The most facts of a step's own work that are searched. */
const MAX_WORK = 200;

/** A step that leads to another one of its actor is the frame around it, which sends nothing itself. */
function sentBy(step: Step, isTold: ReadonlySet<string>, effectsOf: (step: Step) => readonly Step[]): Step | undefined {
  if (step.target !== undefined) return undefined;
  const work = new Set([step]);
  let sent: Step | undefined;
  for (const one of work) {
    for (const effect of effectsOf(one)) {
      // The next step of a command has an origin: it follows, and is no part of this one.
      if (effect.lane !== step.lane || effect.event.origin !== undefined) continue;
      if (isTold.has(effect.event.id)) return undefined;
      if (effect.target === undefined) work.add(effect);
      else if (effect.event.kind !== "watch" && (sent === undefined || (!isWriting(sent) && isWriting(effect))))
        sent = effect;
    }
    if (work.size > MAX_WORK) break;
  }
  return sent;
}
