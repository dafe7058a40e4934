import { resolve } from "node:path";
import { ConvertedSink, type RenderTrace, writeTraceFile } from "../../trace/file/converted-sink.js";
import { NdjsonSink } from "../../trace/file/ndjson.js";
import type { TraceGraph } from "../../trace/graph/graph.js";
import type { TraceSink } from "../../trace/trace.js";
import { translated, translatedSink } from "../../trace/translated.js";
import { HtmlSink } from "../../trace/ui/html-sink.js";
import { LabError } from "../../util/errors.js";
import type { Say } from "../../util/i18n/sentences.js";
import type { CliContext } from "./context.js";
import { TRACE_ENDINGS, TRACE_FORMATS } from "./trace-endings.js";

interface TraceFormat {
  /**
   * Opens the file for facts as they happen.
   * @param say the reader's language, for the formats that people read; the others stay English
   * @throws LabError BAD_FILE if the file cannot be opened
   */
  open(path: string, say?: Say): TraceSink;
  /** Writes the file from all facts at once. @throws LabError BAD_FILE */
  write(path: string, graph: TraceGraph, say?: Say): Promise<void>;
}

const FORMATS: Readonly<Record<(typeof TRACE_FORMATS)[number], TraceFormat>> = {
  ".html": inLanguage(streamed((path) => new HtmlSink(path))),
  ".svg": inLanguage(converted(async () => (await import("../../trace/ui/story-svg.js")).storySvg)),
  ".ndjson": streamed((path) => new NdjsonSink(path)),
  ".mmd": inLanguage(converted(async () => (await import("../../trace/formats/mermaid.js")).mermaidDiagram)),
  ".otlp.json": converted(async () => (await import("../../trace/formats/otlp.js")).otlpTrace),
  ".json": converted(async () => (await import("../../trace/formats/chrome.js")).chromeTrace),
};

/** @throws LabError USAGE for a name with an unknown ending */
export function formatOf(path: string): TraceFormat {
  const ending = TRACE_FORMATS.find((one) => path.endsWith(one));
  if (ending !== undefined) return FORMATS[ending];
  const what = `${path}: the ending of the name chooses the format of a trace, and it has none of ${TRACE_ENDINGS}`;
  const isResult = /^(?:json|yaml|wide|name)$/.test(path);
  throw new LabError(
    "USAGE",
    what,
    isResult ? "--json prints the result as JSON." : "Name the file for example trace.ndjson.",
  );
}

/**
 * Runs something whose facts a file keeps.
 * @param path of the trace's file, if one is wanted @throws LabError USAGE for an unknown format, BAD_FILE
 */
export async function withTraceFile<T>(
  { cwd, say }: Pick<CliContext, "cwd" | "say">,
  path: string | undefined,
  run: (sink: TraceSink | undefined) => Promise<T>,
): Promise<T> {
  if (path === undefined) return run(undefined);
  const sink = formatOf(path).open(resolve(cwd, path), say);
  try {
    return await run(sink);
  } finally {
    await sink.close?.();
  }
}

/** A format for readers, whose facts are in their language. */
function inLanguage(format: TraceFormat): TraceFormat {
  return {
    ...format,
    open: (path, say) => (say === undefined ? format.open(path) : translatedSink(format.open(path), say)),
    async write(path, graph, say) {
      if (say === undefined) return await format.write(path, graph);
      const { TraceGraph: Graph } = await import("../../trace/graph/graph.js");
      await format.write(path, Graph.of([...graph.events, ...graph.stories].map((one) => translated(one, say))));
    },
  };
}

/** A format that is written fact by fact. */
function streamed(open: (path: string) => TraceSink): TraceFormat {
  return {
    open,
    async write(path, graph) {
      const sink = open(path);
      // Sorting keeps the order of a process for facts of the same millisecond.
      const events = [...graph.events, ...graph.stories].sort((a, b) => a.atMs - b.atMs);
      for (const [i, event] of events.entries()) sink.write({ ...event, seq: i + 1 });
      await sink.close?.();
    },
  };
}

/** A format that is made from all facts at the end of a run. Its code is loaded then. */
function converted(load: () => Promise<RenderTrace>): TraceFormat {
  return {
    open: (path) => new ConvertedSink(path, load),
    write: async (path, graph) => await writeTraceFile(path, await load(), graph),
  };
}
