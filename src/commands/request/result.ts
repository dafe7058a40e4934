import type { ChalkInstance } from "chalk";
import type { RequestFact, TraceEvent } from "../../trace/events.js";
import { upstreamLine } from "../../trace/terminal/render-event.js";
import { shortIds } from "../../trace/terminal/text.js";
import { asItIs } from "../../trace/translated.js";
import type { Say } from "../../util/i18n/sentences.js";
import { counted } from "../../util/text/counted.js";
import type { CommandResult } from "../cli/context.js";
import { numberedLines, widthBelow } from "../cli/numbered-steps.js";
import type { WayStep } from "./way.js";

/** Longer values are cut; --json has them whole. */
const MAX_LINES = 2;

interface Style {
  readonly columns: number;
  readonly chalk: ChalkInstance;
  /** the fact of a step */
  readonly factOf: (id: string) => TraceEvent | undefined;
  /** the language of the text around the steps; default: English */
  readonly say?: Say | undefined;
  /** false: ASCII only */
  readonly unicode: boolean;
  /** one line per stage, IDs by their beginning */
  readonly isBrief: boolean;
}

/** The stages of a request as numbered steps, with the reason, the changes and the source of each below it unless it is brief. */
export function requestResult(
  fact: RequestFact,
  message: string | undefined,
  steps: readonly WayStep[],
  { columns, chalk, factOf, unicode, isBrief, say = asItIs }: Style,
): CommandResult {
  const { method, path, status, durationMs, auditId } = fact;
  const took = `${(durationMs / 1000).toFixed(3)} s`;
  const head = chalk.bold(`${method} ${path}: ${status} ${say(`in ${took}, ${counted(steps.length, "step")}`)}`);
  const short = (text: string) => (isBrief ? shortIds(text, unicode) : text);
  const inAscii = (text: string) => short(unicode ? text : text.replaceAll("→", "->"));
  const textOf = ({ text, changes = [] }: WayStep) =>
    isBrief && changes.length > 0 ? `${text} ${say(`(${counted(changes.length, "field")})`)}` : text;
  const shown = steps.map((step) => ({
    ...step,
    actor: step.part,
    text: inAscii(textOf(step)),
    event: factOf(step.fact),
  }));
  // The sign takes two columns.
  const width = widthBelow(shown, columns) - 2;
  const below = (step: WayStep) => (isBrief ? [] : detailsOf(step, width, unicode ? "…" : "..."));
  const numbered = shown.map((step) => ({ ...step, more: below(step) }));
  const lines = [
    head,
    ...numberedLines(numbered, columns, unicode, chalk),
    ...(isBrief ? [chalk.dim(say("-v 1 shows what each stage changed and why, with upstream's source"))] : []),
    ...(message === undefined ? [] : [chalk.red(say(message))]),
  ];
  return { text: lines.join("\n"), json: { request: { method, path, status, auditId, durationMs, message }, steps } };
}

function detailsOf({ why, changes = [], upstream }: WayStep, width: number, ellipsis: string): readonly string[] {
  const opWidth = Math.max(0, ...changes.map(({ op }) => op.length));
  const lines = changes.map(({ op, path, value }) => {
    const line = `${op.padEnd(opWidth)} ${path}${value === undefined ? "" : ` ${JSON.stringify(value)}`}`;
    return line.length <= MAX_LINES * width ? line : line.slice(0, MAX_LINES * width - ellipsis.length) + ellipsis;
  });
  return [
    ...(why === undefined ? [] : [why]),
    ...lines,
    ...(upstream === undefined ? [] : [upstreamLine(upstream, width)]),
  ];
}
