import type { TraceEvent } from "../../events.js";
import { isFailure, lineOf } from "../../formats/name.js";
import { printable } from "../../terminal/text.js";
import { isReceived, whoIn } from "./lanes.js";
import { english, say } from "./language.js";
import type { Step } from "./step.js";

/** Whether a table has what a relist of PLEG saw. */
export function isRelist({ columns }: Extract<TraceEvent, { readonly kind: "table" }>): boolean {
  return columns.map(english).join() === "pod,container,old,new";
}

/** What happened, in one line. Safe to show: characters that turn the direction of text are visible escapes. */
export function titleOf(event: TraceEvent): string {
  if (event.kind === "table" && isRelist(event) && english(event.title) === "changes since the last relist")
    return printable(event.rows.map(([pod, what, from, to]) => `${pod} ${what}: ${from} → ${to}`).join("; "));
  if (event.kind !== "state") return printable(lineOf(event));
  const change = [event.what, event.from, event.from === undefined ? undefined : "→", event.to];
  return printable(`${event.subject}: ${change.filter(Boolean).join(" ")}`);
}

/** How it happened, in short: `POST …/pods → 201`, `StartContainer → OK`, `watch: Pod web ADDED`. */
export function transportOf(event: TraceEvent): string {
  const outcome = outcomeOf(event);
  const answered = outcome === undefined ? "" : ` → ${outcome}`;
  switch (event.kind) {
    case "request":
      return printable(`${event.method} ${shortPath(event.path)}${answered}`);
    case "rpc":
      return printable(`${event.service}/${event.method}${answered}`);
    case "watch":
      return printable(`watch: ${event.resource} ${event.object} ${event.type}`);
    case "event":
      return printable(`Event ${event.reason}: ${event.message}`);
    case "step":
    case "decision":
    case "note":
      return printable(event.upstream?.func ?? "");
    default:
      return titleOf(event);
  }
}

/** Without the group and the namespace: `…/pods/web/binding`. */
function shortPath(path: string): string {
  return path.replace(/^\/apis?\/(?:[^/]+\/)?v\d\w*(?:\/namespaces\/[^/]+(?=\/))?\//, "…/");
}

/** The actor, with its node or its name: `kubelet node-1`. */
export function whoOf({ event, lane }: Step): string {
  return whoIn(event, lane, say);
}

/** The outcome in a word: `201`, `OK`, `Warning`. */
export function outcomeOf(event: TraceEvent): string | undefined {
  switch (event.kind) {
    case "request":
      return event.status === undefined ? "no answer" : String(event.status);
    case "rpc":
      return event.code ?? "open";
    case "event":
      return event.type;
    case "error":
      return "error";
    default:
      return undefined;
  }
}

/** Whether a fact reports a failure; the outcome has the reason. */
export function isBad(event: TraceEvent): boolean {
  // A component that looks first whether an object exists gets an answer, also if it does not.
  const isAnswer = event.kind === "request" && event.method === "GET" && event.status === 404 && event.actor !== "user";
  if (isAnswer) return false;
  return isFailure(event) || (event.kind === "event" && event.type === "Warning");
}

/** `12.345` */
export function secondsOf(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** `12 ms`, `3.4 s`, `2 min 5 s` */
export function durationWords(ms: number): string {
  if (ms < 1000) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** A step as a screen reader reads it. */
export function sentenceOf(step: Step, startMs: number): string {
  const { event, target, startMs: at } = step;
  const whom = target === undefined ? "" : isReceived(event) ? ` from ${target.name}` : ` to ${target.name}`;
  const outcome = outcomeOf(event);
  const when = secondsOf(at - startMs);
  return `${when} s, ${event.kind}, ${whoOf(step)}${whom}: ${titleOf(event)}${outcome === undefined ? "" : `, ${outcome}`}`;
}
