import type { TraceEvent } from "../../trace/events.js";
import type { TraceGraph } from "../../trace/graph.js";
import { startMs } from "../../trace/graph.js";
import type { Origin } from "../../trace/scope.js";
import { factText, plainText } from "../../trace/terminal.js";

const ORIGINS: Readonly<Record<Origin, string>> = {
  command: "a user's command",
  timer: "a timer",
  client: "a client that reports no facts of its own",
  start: "the start of a server",
  observed: "a change that somebody else made",
};

/** What began the chain of a fact without a known cause. */
export function beginningOf(graph: TraceGraph, root: TraceEvent): string {
  if (graph.hasUnobservedCause(root)) {
    const what = root.causedBy?.includes("@") === true ? "whoever wrote the object version" : "the fact";
    return `not observed: ${what} ${root.causedBy} is in none of the traces`;
  }
  if (root.causedBy !== undefined) return "a circle of causes: the trace is damaged";
  return root.origin === undefined ? "no cause was reported" : (ORIGINS[root.origin] ?? root.origin);
}

/** `kubelet node-1` */
export function actorOf({ actor, instance }: TraceEvent): string {
  return instance === undefined ? actor : `${actor} ${instance}`;
}

/** A fact as one line: seconds since the beginning of the trace, actor, sign and text. */
export function factLine(event: TraceEvent, zeroMs: number, depth = 0): string {
  const seconds = ((startMs(event) - zeroMs) / 1000).toFixed(3).padStart(8);
  const { sign, text } = factText(event, plain(1_000));
  return `${seconds} ${"  ".repeat(depth)}${actorOf(event)} ${sign || "·"} ${text.replace(/\s*\n\s*/g, " ")}`;
}

/** The lines below a fact: why, constants, upstream file. */
export function factDetails(event: TraceEvent, width: number): readonly string[] {
  return factText(event, plain(width)).details;
}

function plain(width: number) {
  return plainText({ width: () => width, verbosity: 1, startMs: 0 });
}
