import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TraceEvent } from "../../src/trace/events.js";
import { runInProcess } from "../support/run-cli.js";

/** What a command printed, with single spaces between its words, and the facts of its trace. */
export interface Output {
  readonly text: string;
  readonly facts: readonly TraceEvent[];
}

/** A command that goes on by itself until something has been seen, or one that needs files, a server or a cluster. */
export interface Scenario {
  readonly argv: readonly string[];
  /** called with what it has printed so far, in single spaces; aborting `stop` ends the command */
  readonly onOutput?: (text: string, stop: AbortController) => void;
}

/** The words of a command line; quotes keep spaces. */
export function wordsOf(line: string): string[] {
  const words = line.match(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g) ?? [];
  return words.map((word) => word.replace(/(['"])(.*?)\1/g, "$2"));
}

export const singleSpaced = (text: string): string => text.replace(/\s+/g, " ");

/** Runs `kubelab LINE`, which ends by itself and has no trace. */
export async function plainOutput(line: string): Promise<Output> {
  const { stdout, stderr } = await runInProcess(wordsOf(line));
  return { text: singleSpaced(`${stdout} ${stderr}`), facts: [] };
}

/** Runs a command with its trace at `-v 3`. */
export async function tracedOutput({ argv, onOutput }: Scenario): Promise<Output> {
  const trace = join(mkdtempSync(join(tmpdir(), "kubelab-course-")), "trace.ndjson");
  const stop = new AbortController();
  const onStderr = (printed: string) => onOutput?.(singleSpaced(printed.slice(-20_000)), stop);
  const dashes = argv.indexOf("--");
  const at = dashes < 0 ? argv.length : dashes;
  const line = [...argv.slice(0, at), "-v", "3", "-o", trace, ...argv.slice(at)];
  const run = await runInProcess(line, { signal: stop.signal, onStderr });
  if (!existsSync(trace)) throw new Error(run.stderr);
  const lines = readFileSync(trace, "utf8").trim().split("\n");
  return {
    text: singleSpaced(`${run.stdout} ${run.stderr}`),
    facts: lines.map((line) => JSON.parse(line) as TraceEvent),
  };
}
