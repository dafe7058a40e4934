import type { TraceEvent } from "../../trace/events.js";
import { readTrace, readTraceStream } from "../../trace/file/read-trace.js";
import { TraceGraph } from "../../trace/graph/graph.js";
import { LabError } from "../../util/errors.js";
import { pathFrom } from "../../util/os/paths.js";
import type { CliContext } from "../cli/context.js";
import { STDIN, stdinChunks } from "../cli/stdin.js";

/**
 * The facts of several traces of one run as one graph. `-` is standard input.
 * @throws LabError FAILED if a file is not a trace or has no facts; BAD_FILE
 */
export async function loadTraces(context: CliContext, paths: readonly string[]): Promise<TraceGraph> {
  const graph = new TraceGraph();
  for (const path of paths) for (const event of await loadTrace(context, path)) graph.add(event);
  return graph;
}

/** The facts of one trace, in its order. @throws LabError as `loadTraces` */
export async function loadTrace(context: CliContext, argument: string): Promise<readonly TraceEvent[]> {
  const isStdin = argument === STDIN;
  const path = isStdin ? "standard input" : argument;
  const { events, cutLine } = isStdin
    ? await readTraceStream(path, stdinChunks(context))
    : await readTrace(pathFrom(context.cwd, path), context.signal);
  if (events.length === 0) {
    const hint = "The run ended before its first fact, or was killed: run it again.";
    throw new LabError("FAILED", `the trace ${path} has no facts`, hint);
  }
  if (cutLine !== undefined) {
    const there = `the facts before it are there: ${events.length}`;
    context.notice(`${path}: line ${cutLine} is cut off, because the run was killed; ${there}`);
  }
  return events;
}
