import { defined } from "../util/defined.js";
import type { TraceEvent } from "./events.js";
import type { TraceSink } from "./trace.js";

/** English: the language of the facts. */
export const asItIs = (text: string): string => text;

/** The fact with its sentences in another language. Messages of API servers, runtimes and recorded Events stay unchanged. */
export function translated(event: TraceEvent, say: (text: string) => string): TraceEvent {
  // A cell of one word is a name.
  const inCells = (row: readonly string[]) => row.map((cell) => (cell.includes(" ") ? say(cell) : cell));
  switch (event.kind) {
    case "step":
      return { ...event, title: say(event.title) };
    case "decision":
      return { ...event, what: say(event.what), why: say(event.why) };
    case "state": {
      const from = event.from === undefined ? {} : { from: say(event.from) };
      return { ...event, subject: say(event.subject), what: say(event.what), ...from, to: say(event.to) };
    }
    case "note":
      return { ...event, text: say(event.text) };
    case "table":
      return { ...event, title: say(event.title), columns: event.columns.map(say), rows: event.rows.map(inCells) };
    case "error":
      return { ...event, message: say(event.message), ...(event.hint === undefined ? {} : { hint: say(event.hint) }) };
    case "request":
      return {
        ...event,
        identity: say(event.identity),
        ...(event.failure === undefined ? {} : { failure: say(event.failure) }),
      };
    case "frame":
      return { ...event, ...(event.note === undefined ? {} : { note: say(event.note) }) };
    case "story": {
      const steps = event.steps.map((step) => ({
        ...step,
        text: say(step.text),
        ...(step.why === undefined ? {} : { why: say(step.why) }),
      }));
      return { ...event, title: say(event.title), steps };
    }
    case "rpc":
    case "watch":
    case "event":
      return event;
  }
}

/** Passes the facts on in another language. */
export function translatedSink(sink: TraceSink, say: (text: string) => string): TraceSink {
  const { level, wantsBodies } = sink;
  return {
    ...defined({ level, wantsBodies }),
    write: (event) => sink.write(translated(event, say)),
    close: async () => await sink.close?.(),
  };
}
