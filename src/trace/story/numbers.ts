import type { TraceEvent } from "../events.js";
import type { Trace } from "../trace.js";
import { MAX_STEPS } from "./roles.js";
import { sentenceOf } from "./sentences.js";
import type { StoryRule } from "./teller.js";

const NUMBERED: ReadonlySet<TraceEvent["kind"]> = new Set(["step", "decision", "note"]);

/**
 * Gives a command's steps, decisions and notes in the terminal the numbers that they have in its story. Requests and states also count, but an
 * answer is reported before its request is, so they get no number.
 * @param rule another one than the story's own: a rule remembers where it is
 */
export function numberSteps(trace: Trace, rule: StoryRule): void {
  const numbers = new WeakMap<TraceEvent, number | undefined>();
  const texts = new Set<string>();
  let before: TraceEvent | undefined;
  let isTelling = false;
  const next = (event: TraceEvent): number | undefined => {
    const text = `${event.actor} ${event.instance} ${sentenceOf(event)}`;
    const begun = rule.begins(event, () => (before === undefined ? [event] : [before, event]));
    if (begun !== undefined) {
      isTelling = true;
      texts.clear();
      if (begun.first !== undefined && begun.first !== event) texts.add("before");
    }
    if (event.kind === "step") before = event;
    if (!isTelling || rule.roleOf?.(event) !== "step" || texts.has(text) || texts.size === MAX_STEPS) return undefined;
    texts.add(text);
    return NUMBERED.has(event.kind) ? texts.size : undefined;
  };
  trace.numberOf = (event) => {
    if (!numbers.has(event)) numbers.set(event, next(event));
    return numbers.get(event);
  };
}
