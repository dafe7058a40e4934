import { type ChildProcess, spawn } from "node:child_process";
import { kill, pid } from "node:process";
import type { Readable } from "node:stream";
import { ChildAbort, onAbort } from "../../util/async/abort.js";
import { AsyncQueue } from "../../util/async/async-queue.js";
import type { Clock } from "../../util/clock.js";
import { killMarked } from "../../util/os/processes.js";
import { residentBytes } from "../../util/os/resident-memory.js";
import type { Timer } from "../../util/timer.js";

const MOST_PRINTED_LINES = 10;
const MOST_LINE_CHARACTERS = 200;
/** A longer line of the report is no line of ours. */
const MAX_REPORT_LINE = 256 * 1024;
const MAX_STDERR = 16_384;
const MB = 1024 * 1024;
/** How often the memory of the process is read: buffers are outside of its heap. */
const LOOK_MS = 100;

/** Marks the process and what it starts, wherever that goes. */
const MARK = "KUBELAB_BUILD_RUN";
let startedCount = 0;

const V8_REPORT = /^(?:<--- Last few GCs --->|# Fatal |FATAL ERROR: )/;

/** What the learner's code printed: the first lines, and how many there were. */
export interface Printed {
  readonly lines: readonly string[];
  readonly count: number;
}

/** How the process ended. */
export type ChildEnd =
  | { readonly kind: "ended"; readonly exitCode: number | null }
  | { readonly kind: "too-slow" | "out-of-memory" | "disturbed" };

export interface ChildOptions {
  readonly command: readonly string[];
  /** for its standard input; a process whose input comes later waits for it, without a limit */
  readonly input: string | Promise<string>;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Without a report for so long, the process is ended; ms. */
  readonly patienceMs: number;
  /** heap of the process, MB */
  readonly heapMb: number;
  /** resident memory of the process, bytes */
  readonly mostBytes: number;
}

/**
 * Runs a program with the learner's code in a process of its own, which ends with all that it has started. It reports on
 * descriptor 3, one JSON document per line.
 * @throws the signal's reason
 */
export async function runChild(
  options: ChildOptions,
  clock: Clock,
  onReport: (line: string) => void,
  signal: AbortSignal,
): Promise<{ readonly end: ChildEnd; readonly printed: Printed }> {
  signal.throwIfAborted();
  const [program = "", ...args] = [process.execPath, `--max-old-space-size=${options.heapMb}`, ...options.command];
  const mark = `${pid}.${startedCount++}.${clock.now()}`;
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...options.env, [MARK]: mark },
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    // A group of its own, so that nothing that it starts is left over.
    detached: true,
  });
  const ended = new AsyncQueue<ChildEnd>();
  const printed = new PrintedLines();
  let stderr = "";
  let timer: Timer | undefined;
  let hasInput = false;
  const restart = () => {
    timer?.stop();
    if (!hasInput) return;
    timer = clock.timer(options.patienceMs, () => {
      // A heap near its limit takes all the time for itself: the memory is what is wrong.
      const isFull = residentBytes(child.pid) > options.heapMb * MB;
      ended.push({ kind: isFull ? "out-of-memory" : "too-slow" });
      endGroup(child);
    });
  };
  const look = () => {
    if (residentBytes(child.pid) > options.mostBytes) {
      ended.push({ kind: "out-of-memory" });
      endGroup(child);
    }
    looking = clock.timer(LOOK_MS, look);
  };
  let looking = clock.timer(LOOK_MS, look);
  using stop = new ChildAbort(signal);
  using _abort = onAbort(stop.signal, () => endGroup(child));
  linesOf(child.stdio[3] as Readable, MAX_REPORT_LINE, (line) => {
    restart();
    try {
      onReport(line);
    } catch {
      // It is no line of ours: the learner's code has written it, or has changed what writes it.
      ended.push({ kind: "disturbed" });
      endGroup(child);
    }
  });
  linesOf(child.stdout, MOST_LINE_CHARACTERS, (line) => printed.add(line));
  linesOf(child.stderr, MOST_LINE_CHARACTERS, (line) => {
    if (!printed.isOver) printed.addError(line);
    stderr = `${stderr}${line}\n`.slice(-MAX_STDERR);
  });
  child.once("error", () => ended.push({ kind: "ended", exitCode: null }));
  // Of a process that ended before it read all of it.
  child.stdin.once("error", () => {});
  void Promise.resolve(options.input).then((input) => {
    hasInput = true;
    restart();
    child.stdin.end(input);
  });
  child.once("exit", () => {
    endGroup(child);
    killMarked(MARK, mark);
  });
  child.once("close", (exitCode) => {
    ended.push(
      /heap out of memory|allocation failed/i.test(stderr) ? { kind: "out-of-memory" } : { kind: "ended", exitCode },
    );
    ended.close();
  });
  try {
    for await (const end of ended) {
      signal.throwIfAborted();
      return { end, printed };
    }
    throw new Error("the process ended without an end");
  } finally {
    timer?.stop();
    looking.stop();
    endGroup(child);
    killMarked(MARK, mark);
  }
}

/** The first lines of an output without end. */
class PrintedLines implements Printed {
  readonly lines: string[] = [];
  count = 0;

  /** V8 reports a full heap from here on: that is not what the learner's code printed. */
  isOver = false;
  #blankLines = 0;

  /** Blank lines come before V8's report, and count only with a line after them. */
  addError(line: string): void {
    if (V8_REPORT.test(line)) this.isOver = true;
    else if (line === "") this.#blankLines += 1;
    else {
      for (; this.#blankLines > 0; this.#blankLines -= 1) this.add("");
      this.add(line);
    }
  }

  add(line: string): void {
    this.count += 1;
    if (this.lines.length < MOST_PRINTED_LINES) this.lines.push(line);
  }
}

/** Calls back for each line, cut at this length. Its memory is bounded, and its time linear. */
function linesOf(stream: Readable, mostCharacters: number, onLine: (line: string) => void): void {
  let line = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    const [first = "", ...others] = text.split("\n");
    line = (line + first).slice(0, mostCharacters);
    for (const next of others) {
      onLine(line);
      line = next.slice(0, mostCharacters);
    }
  });
  stream.once("end", () => {
    if (line !== "") onLine(line);
  });
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    kill(-pid, "SIGKILL");
  } catch {
    // It has ended, and so has all that it started.
  }
}
