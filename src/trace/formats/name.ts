import type { TraceEvent } from "../events.js";

const MAX_CHARACTERS = 120;

/** A fact in a few words on one line, for the name of a span or a note in a diagram. */
export function nameOf(event: TraceEvent): string {
  const line = lineOf(event);
  return line.length <= MAX_CHARACTERS ? line : `${line.slice(0, MAX_CHARACTERS - 3)}...`;
}

/** A fact on one line. */
export function lineOf(event: TraceEvent): string {
  return words(event).replace(/\s+/g, " ").trim();
}

function words(event: TraceEvent): string {
  switch (event.kind) {
    case "step":
    case "table":
    case "story":
      return event.title;
    case "request":
      return `${event.method} ${event.path}`;
    case "rpc":
      return `${event.service}/${event.method}`;
    case "decision":
      return event.what;
    case "state":
      return `${event.subject}: ${event.what} ${event.to}`;
    case "watch":
      return `watch event ${event.type} ${event.resource} ${event.object}`;
    case "event":
      return `${event.object} ${event.reason}: ${event.message}`;
    case "note":
      return event.text;
    case "frame":
      return `${event.direction} ${event.framing} ${event.type} ${event.channel ?? ""} ${event.length} bytes`;
    case "error":
      return event.message;
  }
}

const HAS_SENTENCES = /^(?:story|step|decision|note)$/;
const HAN = /\p{Script=Han}/u;

/** Whether the facts were written in Chinese: only their sentences can have Chinese characters. */
export function isChinese(events: readonly TraceEvent[]): boolean {
  return events.some((event) => HAS_SENTENCES.test(event.kind) && HAN.test(lineOf(event)));
}

/** Whether the fact reports a failure. */
export function isFailure(event: TraceEvent): boolean {
  switch (event.kind) {
    case "error":
      return true;
    case "request":
      return event.status === undefined || event.status >= 400;
    case "rpc":
      return event.code !== undefined && event.code !== "OK";
    default:
      return false;
  }
}

/** How a request or call ended: `201 created`, `NotFound`. */
export function answerOf(event: TraceEvent & { readonly kind: "request" | "rpc" }): string {
  const code = event.kind === "rpc" ? event.code : (event.status ?? event.failure ?? "no answer");
  return [code, event.outcome].filter((part) => part !== undefined).join(" ");
}
