import type { TraceEvent } from "../events.js";
import { plainText, type TerminalOptions } from "./options.js";
import { renderEvent } from "./render-event.js";

/** Lines of an output without wrapping, in English and in the reader's language. */
export interface UnbrokenLines {
  readonly english: readonly string[];
  readonly shown: readonly string[];
}

const UNBROKEN = { width: () => Number.POSITIVE_INFINITY };
const { chalk } = plainText({ ...UNBROKEN, verbosity: 1, startMs: 0 });

/** The lines of one event as on a terminal without an edge, without colours. Pure. */
export function unbrokenLines(event: TraceEvent, depth: number, options: TerminalOptions): UnbrokenLines {
  const unbroken = { ...options, ...UNBROKEN, chalk };
  const english = renderEvent(event, depth, { ...unbroken, say: undefined });
  const shown = options.say === undefined ? english : renderEvent(event, depth, unbroken);
  return { english, shown };
}
