import type { TraceEvent } from "../events.js";
import type { Trace } from "../trace.js";
import { MAX_STEPS } from "./roles.js";
import { sentenceOf } from "./sentences.js";
import type { StoryRule } from "./teller.js";

const MAX_KNOWN = 20_000;

/**
 * Gives a command's facts in the terminal the numbers that they have in its story.
 * @param rule another one than the story's own: a rule remembers where it is
 * @param isChained only what the beginning caused is numbered. A request is reported with its answer, after what it caused: the first
 * effect keeps a number for it. Without it, all facts are numbered that the rule calls steps.
 */
export function numberSteps(trace: Trace, rule: StoryRule, isChained = false): void {
  const numbers = new WeakMap<TraceEvent, number | undefined>();
  const texts = new Set<string>();
  /** by id or audit ID: what the beginning caused, and the number that is kept for it */
  const chain = new Map<string, number | undefined>();
  let isTelling = false;
  let count = 0;
  const begin = ({ id }: TraceEvent) => {
    isTelling = true;
    count = 0;
    texts.clear();
    chain.clear();
    chain.set(id, undefined);
  };
  // Without a sink that keeps causes, only the audit ID leads to the request.
  const keep = ({ causedBy, ...event }: TraceEvent, number: number) => {
    for (const key of [causedBy, "auditId" in event ? event.auditId : undefined])
      if (key !== undefined) chain.set(key, number);
  };
  const isOfStory = ({ id, causedBy }: TraceEvent): boolean => {
    if (!isChained || chain.has(id)) return true;
    if (causedBy === undefined || !chain.has(causedBy)) return false;
    chain.set(id, undefined);
    if (chain.size > MAX_KNOWN) chain.delete(chain.keys().next().value ?? "");
    return true;
  };
  const next = (event: TraceEvent): number | undefined => {
    if (rule.begins(event) !== undefined) begin(event);
    if (!isTelling) return undefined;
    const isStep = rule.roleOf?.(event) === "step";
    if (isChained && isStep && event.causedBy !== undefined && !chain.has(event.causedBy) && count < MAX_STEPS)
      keep(event, ++count);
    if (!isOfStory(event) || !isStep) return undefined;
    const kept = chain.get(event.id) ?? (event.kind === "request" ? chain.get(event.auditId ?? "") : undefined);
    if (kept !== undefined) return kept;
    const text = `${event.actor} ${event.instance} ${sentenceOf(event) ?? event.id}`;
    if (texts.has(text) || count >= MAX_STEPS) return undefined;
    texts.add(text);
    return ++count;
  };
  trace.numberOf = (event) => {
    if (!numbers.has(event)) numbers.set(event, next(event));
    return numbers.get(event);
  };
}
