import type { StoryFact, StoryStep } from "../../events.js";
import type { Step } from "./step.js";

/** One step of a command's story, with its fact. */
export interface PlotStep extends StoryStep {
  /** 1, 2, 3, ... as in the terminal */
  readonly number: number;
  readonly step: Step;
}

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
 */
export function plotsOf(stories: readonly StoryFact[], stepOf: (id: string) => Step | undefined): readonly Plot[] {
  const byTitle = new Map<string, StoryStep[]>();
  for (const { title, steps } of stories) {
    const told = [...(byTitle.get(title) ?? []), ...steps];
    // The story that was told last is the latest one.
    byTitle.delete(title);
    byTitle.set(title, told);
  }
  return [...byTitle].flatMap(([title, told]) => {
    const steps = told.flatMap((one, i): PlotStep[] => {
      const step = stepOf(one.fact);
      return step === undefined ? [] : [{ ...one, number: i + 1, step }];
    });
    if (steps.length === 0) return [];
    const byStep = new Map(steps.map((one) => [one.step, one]));
    const startMs = Math.min(...steps.map(({ step }) => step.startMs));
    const endMs = Math.max(...steps.map(({ step }) => step.event.atMs));
    return [{ title, steps, byStep, startMs, endMs }];
  });
}
