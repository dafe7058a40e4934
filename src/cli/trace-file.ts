import { ConvertedSink, type RenderTrace } from "../trace/converted-sink.js";
import { NdjsonSink } from "../trace/ndjson.js";
import type { TraceSink } from "../trace/trace.js";
import { LabError } from "../util/errors.js";

/** A format that is made from all facts at the end of a run. Its code is loaded then. */
interface TraceFormat {
  /** the ending of the name chooses the format */
  readonly ending: string;
  load(): Promise<RenderTrace>;
}

/** A longer ending stands before the shorter one that it ends with. */
const FORMATS: readonly TraceFormat[] = [
  { ending: ".mmd", load: async () => (await import("../trace/formats/mermaid.js")).mermaidDiagram },
  { ending: ".otlp.json", load: async () => (await import("../trace/formats/otlp.js")).otlpTrace },
  { ending: ".json", load: async () => (await import("../trace/formats/chrome.js")).chromeTrace },
];

/** for help texts and errors */
export const TRACE_ENDINGS = [".ndjson", ...FORMATS.map(({ ending }) => ending)].join(", ");

/**
 * Opens the file of --trace in the format that its name chooses.
 * @throws LabError USAGE for an unknown ending, BAD_FILE if the file cannot be opened
 */
export function openTraceFile(path: string): TraceSink {
  const format = formatOf(path);
  return format === undefined ? new NdjsonSink(path) : new ConvertedSink(path, format.load);
}

/** @returns undefined for .ndjson, the facts themselves @throws LabError USAGE for an unknown ending */
export function formatOf(path: string): TraceFormat | undefined {
  if (path.endsWith(".ndjson")) return undefined;
  const format = FORMATS.find(({ ending }) => path.endsWith(ending));
  if (format !== undefined) return format;
  const what = `${path}: the ending of the name chooses the format of a trace, and it has none of ${TRACE_ENDINGS}`;
  throw new LabError("USAGE", what, "Name the file for example trace.ndjson.");
}
