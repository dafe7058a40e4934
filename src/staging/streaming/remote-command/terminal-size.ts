import { type ByteReader, StreamError } from "../bytes.js";
import type { TerminalSize } from "./session.js";

/** A size has some 30 bytes; longer texts are not sizes. */
const MAX_TEXT_CHARS = 4096;
const MAX_CELLS = 65_535;

/** In Go's form: `{"Width":80,"Height":24}`. */
export function terminalSizeText({ width, height }: TerminalSize): string {
  return JSON.stringify({ Width: width, Height: height });
}

/**
 * The sizes of a resize stream: JSON objects in sequence, in pieces of any length. Ends with the stream, with its
 * connection, and at the first text that is not a size; the terminal then keeps its size. A broken connection is
 * reported by the session's signal, not here. Without a stream there are no sizes.
 *
 * Mirrors handleResizeEvents in pkg/kubelet/cri/streaming/remotecommand/httpstream.go.
 */
export async function* terminalSizes(reader: ByteReader | undefined): AsyncGenerator<TerminalSize> {
  if (reader === undefined) return;
  try {
    yield* sizesIn(reader);
  } catch (error) {
    if (!(error instanceof StreamError)) throw error;
  }
}

async function* sizesIn(reader: ByteReader): AsyncGenerator<TerminalSize> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of reader) {
    text = (text + decoder.decode(bytes, { stream: true })).trimStart();
    for (let end = text.indexOf("}"); end >= 0; end = text.indexOf("}")) {
      const size = parseSize(text.slice(0, end + 1));
      if (size === undefined) return;
      text = text.slice(end + 1).trimStart();
      yield size;
    }
    if (text.length > MAX_TEXT_CHARS) return;
  }
}

/** Field names in any case, as Go's decoder accepts them; missing fields are 0. */
function parseSize(text: string): TerminalSize | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // not JSON: no size
  }
  if (typeof value !== "object" || value === null) return undefined;
  const fields = new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field as unknown]));
  const [width = 0, height = 0] = [fields.get("width"), fields.get("height")];
  return isCells(width) && isCells(height) ? { width, height } : undefined;
}

function isCells(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_CELLS;
}
