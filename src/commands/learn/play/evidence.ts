import type { LabMessage } from "../../../lab/labs/session/message.js";
import type { TraceEvent } from "../../../trace/events.js";
import { factText } from "../../../trace/terminal/render-event.js";
import { printable, shortIds } from "../../../trace/terminal/text.js";
import { fitted, wrap } from "../../../util/text/text-width.js";
import { type RenderOptions, withoutEnd } from "./step-trace.js";

/** Of the column of times. */
const TIME_WIDTH = 13;
/** A longer path without its query is still the same resource. */
const MAX_PATH = 40;
/** The limit of lines with reasons and with fields that the check read. */
const MAX_DETAILS = 4;

/**
 * The facts that decided, for a terminal: seconds since the first, actor, text. Decisions have their reasons and
 * constants below, and the fields that the check read.
 */
export function evidenceLines(
  { facts, afterMs, shows, count, isOfStep = false }: LabMessage & { kind: "evidence" },
  options: RenderOptions,
): string[] {
  const { say, width, unicode } = options;
  const style = { ...options, say: undefined, verbosity: 2, startMs: 0 } as const;
  const margin = " ".repeat(TIME_WIDTH);
  const etc = unicode ? "…" : "...";
  const lines = facts.flatMap((fact, i) => {
    const seconds = `+${((afterMs[i] ?? 0) / 1000).toFixed(3)} s`;
    const actor = fact.instance === undefined ? fact.actor : `${fact.actor} ${fact.instance}`;
    const { sign, text, details: reasons } = factText(withoutPlace(inShort(fact, etc)), style);
    const read = shows[i] ?? null;
    const below = read === null ? [] : [...(fact.kind === "table" ? [] : reasons), ...read].slice(-MAX_DETAILS);
    const room = width() - TIME_WIDTH;
    const sentence = shortIds(`${actor} ${sign} ${withoutEnd(fact, text, say)}`, unicode);
    // The whole command is above.
    const [first = "", ...more] = text.startsWith("$ ") ? [fitted(sentence, room, etc)] : wrap(sentence, room);
    const details = below.flatMap((one) => wrap(shortIds(printable(one), unicode), room - 2));
    return [
      `${seconds.padStart(TIME_WIDTH - 1)} ${first}`,
      ...more.map((line) => `${margin}${line}`),
      ...details.map((line) => `${margin}  ${line}`),
    ];
  });
  const heading = isOfStep
    ? say("evidenceOfStep")
    : facts.length === count
      ? say("evidence")
      : say("evidenceSome", { shown: facts.length, count });
  return [heading, ...lines].map((line) => options.chalk.dim(line));
}

/** A request without the end of a long query. */
function inShort(fact: TraceEvent, etc: string): TraceEvent {
  if (fact.kind !== "request") return fact;
  const [resource = ""] = fact.path.split("?");
  return fact.path.length <= MAX_PATH || resource === fact.path ? fact : { ...fact, path: `${resource}?${etc}` };
}

/** The trace shows the upstream file; here it would hide the reason. */
function withoutPlace(fact: TraceEvent): TraceEvent {
  if (!("upstream" in fact)) return fact;
  const { upstream, ...rest } = fact;
  return rest;
}
