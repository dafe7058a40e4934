import type { TraceEvent } from "../events.js";

/** A fact as the page holds it. Bodies make up most of a trace, so they are parsed only when they are shown. */
export interface EmbeddedFact {
  readonly event: TraceEvent;
  /** JSON of a `Bodies`; undefined for a fact without bodies */
  readonly bodies: string | undefined;
}

/** What a request or a call sent and got; masked when the fact was made. */
export interface Bodies {
  readonly requestBody?: unknown;
  readonly responseBody?: unknown;
}

/** The end of the page. A browser does not need it, so a killed run leaves a readable file. */
export const PAGE_TAIL = "</script>\n</body>\n</html>\n";

/**
 * One fact as a line of the page. It has no `<`, so it cannot end the script element around it or begin a comment. JSON has
 * no raw tab, so a tab separates the fact from its bodies.
 */
export function factLine(event: TraceEvent): string {
  const { requestBody, responseBody, ...rest } = event as TraceEvent & Bodies;
  const fact = escapeHtml(JSON.stringify(rest));
  if (requestBody === undefined && responseBody === undefined) return `${fact}\n`;
  return `${fact}\t${escapeHtml(JSON.stringify({ requestBody, responseBody } satisfies Bodies))}\n`;
}

/** In JSON, `<` and the line separators occur only in strings. */
function escapeHtml(json: string): string {
  return json.replace(/[<\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Reads lines of `factLine`. The last line of a run that was killed may be cut off; it is left out. */
export function parseFacts(text: string): EmbeddedFact[] {
  const facts: EmbeddedFact[] = [];
  for (let at = 0; at < text.length; ) {
    const found = text.indexOf("\n", at);
    const end = found === -1 ? text.length : found;
    if (end > at) {
      const line = text.slice(at, end);
      const tab = line.indexOf("\t");
      try {
        const event = JSON.parse(tab === -1 ? line : line.slice(0, tab)) as TraceEvent;
        facts.push({ event, bodies: tab === -1 ? undefined : line.slice(tab + 1) });
      } catch {
        // Only the last line can be incomplete: this program wrote the lines.
      }
    }
    at = end + 1;
  }
  return facts;
}

/** The lines that end within the first `maxChars` of a text that may still grow. */
export function firstLines(text: string, maxChars: number): string {
  return text.slice(0, text.lastIndexOf("\n", maxChars - 1) + 1);
}

/** @returns no bodies if a killed run cut them off */
export function parseBodies(json: string | undefined): Bodies {
  if (json === undefined) return {};
  try {
    return JSON.parse(json) as Bodies;
  } catch {
    return {};
  }
}
