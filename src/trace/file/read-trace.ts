import { isUtf8 } from "node:buffer";
import { LabError } from "../../util/errors.js";
import { describeFileError } from "../../util/os/files.js";
import { atMost, ByteCollector, chunksOfFile } from "../../util/os/read-at-most.js";
import type { TraceEvent } from "../events.js";
import { faultOf } from "./check-fact.js";
import { TRACE_FORMAT } from "./ndjson.js";

/** The largest file that is read. Its facts take several times as much memory. */
const MAX_TRACE_BYTES = 256 * 1024 * 1024;

const NEWLINE = 10;

/** The first characters of other formats. */
const FOREIGN: readonly (readonly [RegExp, string])[] = [
  [/^\s*</, "an HTML page, to open in a browser"],
  [/^\s*sequenceDiagram/, "a Mermaid diagram, without the facts"],
  [/^\s*\{\s*"resourceSpans"/, "OpenTelemetry spans, without the facts"],
  [/^\s*(?:\{\s*"(?:displayTimeUnit|traceEvents)"|\[)/, "a Chrome trace, without the facts"],
];

export interface TraceFile {
  readonly path: string;
  readonly events: readonly TraceEvent[];
  /** the number of the last line if a killed run wrote only a part of it; its fact is missing */
  readonly cutLine?: number;
}

/**
 * Reads the facts of a `.ndjson` trace, line by line.
 * @throws LabError BAD_FILE for a file that cannot be read; FAILED with the line's number if the file is not a trace
 */
export async function readTrace(path: string, signal?: AbortSignal, maxBytes = MAX_TRACE_BYTES): Promise<TraceFile> {
  return await readFacts(path, chunksOfFile(path, signal, maxBytes));
}

/** Reads the facts of a stream. @param path its name, for messages */
export async function readTraceStream(path: string, source: AsyncIterable<Uint8Array>): Promise<TraceFile> {
  return await readFacts(path, atMost(source, MAX_TRACE_BYTES));
}

async function readFacts(path: string, chunks: AsyncIterable<Uint8Array>): Promise<TraceFile> {
  const events: TraceEvent[] = [];
  let number = 0;
  try {
    for await (const { bytes, isWhole } of linesOf(chunks)) {
      number += 1;
      const line = textOf(bytes, number);
      if (line?.trim() === "") continue;
      const value = parsed(line);
      if (value === undefined && !isWhole && number > 1) return { path, events, cutLine: number };
      events.push(checked(value, line, { path, number }));
    }
  } catch (cause) {
    throw explained(path, cause);
  }
  return { path, events };
}

interface Place {
  readonly path: string;
  readonly number: number;
}

interface Line {
  readonly bytes: Buffer;
  /** it ends with a line feed */
  readonly isWhole: boolean;
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let begun = new ByteCollector();
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      if (begun.length === 0) {
        yield { bytes: Buffer.from(piece.buffer, piece.byteOffset, piece.length), isWhole: true };
        continue;
      }
      begun.push(piece);
      yield { bytes: begun.bytes(), isWhole: true };
      begun = new ByteCollector();
    }
    if (start < chunk.length) begun.push(chunk.subarray(start));
  }
  if (begun.length > 0) yield { bytes: begun.bytes(), isWhole: false };
}

/** @returns undefined if the bytes are not UTF-8 */
function textOf(bytes: Buffer, number: number): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  // Editors on Windows put a byte order mark in front.
  return number === 1 ? bytes.toString().replace(/^\ufeff/, "") : bytes.toString();
}

/** @returns undefined if the text is not JSON */
function parsed(line: string | undefined): unknown {
  try {
    return line === undefined ? undefined : JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** @throws LabError FAILED */
function checked(value: unknown, line: string | undefined, place: Place): TraceEvent {
  const { format } = (value ?? {}) as { readonly format?: unknown };
  if (typeof format === "number" && format > TRACE_FORMAT) {
    const what = `it was written in format ${format}, and this kubelab reads format ${TRACE_FORMAT}`;
    throw bad(place, what, "Read it with the kubelab that wrote it, or a newer one.");
  }
  if (line === undefined) throw bad(place, "it is not UTF-8 text");
  const fault = value === undefined ? "it is not JSON" : faultOf(value);
  if (fault === undefined) return value as TraceEvent;
  const foreign = place.number === 1 ? FOREIGN.find(([pattern]) => pattern.test(line)) : undefined;
  if (foreign !== undefined) throw bad(place, `the file is ${foreign[1]}`);
  const hint = fault.startsWith("its kind ")
    ? "A newer kubelab may have written it: read it with that one."
    : undefined;
  throw bad(place, fault, hint);
}

function bad(
  { path, number }: Place,
  what: string,
  hint = "A trace has one fact in each line, as `--trace FILE.ndjson` writes it.",
): LabError {
  return new LabError("FAILED", `cannot read the trace ${path}, line ${number}: ${what}`, hint);
}

function explained(path: string, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  // An abort's code is a number.
  if (cause instanceof LabError || typeof code !== "string") return cause;
  if (code === "EFBIG") {
    const hint = "Keep the lines that you need in a smaller file: every line is a fact of its own.";
    return new LabError("FAILED", `cannot read the trace ${path}: ${describeFileError(cause)}`, hint, { cause });
  }
  const hint = "Name a file that `--trace FILE.ndjson` has written.";
  return new LabError("BAD_FILE", `cannot read the trace ${path}: ${describeFileError(cause)}`, hint, { cause });
}
