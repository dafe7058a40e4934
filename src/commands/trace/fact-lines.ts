import type { TraceEvent } from "../../trace/events.js";
import type { TraceGraph } from "../../trace/graph/graph.js";
import { startMs } from "../../trace/graph/graph.js";
import type { Origin } from "../../trace/scope.js";
import { plainText, type TerminalOptions } from "../../trace/terminal/options.js";
import { factText } from "../../trace/terminal/render-event.js";
import { printable } from "../../trace/terminal/text.js";
import type { Say } from "../../util/i18n/sentences.js";

/** A line that begins further to the right has no room on a terminal. */
const MAX_INDENT = 16;

const ORIGINS: Readonly<Record<Origin, string>> = {
  command: "a user's command",
  timer: "a timer",
  client: "a client that reports no facts of its own",
  start: "the start of a server",
  observed: "a change from outside",
};

/** The origin of a fact without a known cause. */
export function beginningOf(graph: TraceGraph, root: TraceEvent): string {
  if (graph.hasUnobservedCause(root)) {
    const what = root.causedBy?.includes("@") === true ? "the writer of the object version" : "the fact";
    return `a cause that was not observed: ${what} ${root.causedBy} is in none of the traces`;
  }
  if (root.causedBy !== undefined) return "a circle of causes: the trace is damaged";
  return root.origin === undefined ? "no cause was reported" : (ORIGINS[root.origin] ?? root.origin);
}

/** `kubelet node-1` */
export function actorOf({ actor, instance }: TraceEvent): string {
  return instance === undefined ? actor : `${actor} ${instance}`;
}

/** How facts become lines. */
export interface LineStyle {
  /** Unix ms; times count from here */
  readonly zeroMs: number;
  /** false: ASCII only */
  readonly unicode: boolean;
  /** the sentences of facts in the user's language; undefined: English */
  readonly say?: Say | undefined;
}

/** A fact as one line: seconds, actor, sign and text. */
export function factLine(event: TraceEvent, style: LineStyle, depth = 0): string {
  const seconds = ((startMs(event) - style.zeroMs) / 1000).toFixed(3).padStart(8);
  return `${seconds} ${"  ".repeat(Math.min(depth, MAX_INDENT))}${factWords(event, style)}`;
}

/** The same without the time. */
export function factWords(event: TraceEvent, style: LineStyle): string {
  return `${oneLine(actorOf(event))} ${signedText(event, style)}`;
}

/** Sign and text alone. */
export function signedText(event: TraceEvent, style: LineStyle): string {
  const { sign, text } = factText(event, plain(1_000, style));
  return oneLine(`${sign || "-"} ${text}`);
}

/** Names and texts come from files: nothing in them can control the terminal or break the line. */
export function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, (space) => (/[^ ]/.test(space) ? " " : space)));
}

/** The lines below a fact: why, constants, upstream file. */
export function factDetails(event: TraceEvent, style: LineStyle, width: number): readonly string[] {
  return factText(event, plain(width, style)).details;
}

function plain(width: number, { unicode, say }: Pick<LineStyle, "unicode" | "say">): TerminalOptions {
  return { ...plainText({ width: () => width, verbosity: 1, startMs: 0 }), unicode, say };
}
