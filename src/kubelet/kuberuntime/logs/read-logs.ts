import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import { LineSplitter } from "./lines.js";
import { LogFile, LogWatcher, resolveLogPath } from "./log-file.js";
import type { LogOptions, LogPiece } from "./options.js";
import { LogOutput } from "./output.js";

export interface ReadLogsDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  /**
   * Called while a log is followed: when the container no longer runs, its log is read to the end.
   * @throws the error that ends the log
   */
  isContainerRunning(containerId: string, signal: AbortSignal): Promise<boolean>;
}

export interface ReadLogsRequest {
  readonly path: string;
  readonly containerId: string;
  readonly options: LogOptions;
}

/**
 * Reads a container's log file in blocks of 64 KB, each on demand.
 *
 * Mirrors pkg/kubelet/kuberuntime/logs/logs.go (ReadLogs).
 * Differs: while following, a rotated file is read to its end before its successor; a last line without a line feed is
 * always returned; one trace line reports all lines that could not be parsed.
 *
 * @yields output in the order of the log; ends when all is read, or when `signal` aborts
 * @throws LogError in the kubelet's words
 */
export async function* readLogs(
  deps: ReadLogsDeps,
  { path, containerId, options }: ReadLogsRequest,
  signal: AbortSignal,
): AsyncGenerator<LogPiece> {
  const realPath = await resolveLogPath(path);
  const broken = new BrokenLines(realPath, deps.trace);
  const output = new LogOutput(options, (line, problem) => broken.add(line, problem));
  const first = await LogFile.open(realPath);
  const follower = new Follower(deps, containerId, first);
  try {
    await first.seekTail(options.tail);
    const splitter = new LineSplitter();
    while (!output.isDone && !signal.aborted) {
      const block = await follower.file.read();
      if (block !== undefined) {
        yield* output.take(splitter.push(block));
        continue;
      }
      const next = options.follow ? await follower.next(signal) : "ended";
      if (next === "more") continue;
      yield* output.take(splitter.end());
      if (next === "ended") return;
    }
  } finally {
    broken.report();
    await follower.close();
  }
}

/** `more`: the same file may have more. `replaced`: it was read to its end, and a new file follows. */
type Next = "more" | "replaced" | "ended";

/** Decides at the end of the file what happens while a log is followed. */
class Follower {
  #file: LogFile;
  #watcher: LogWatcher | undefined;
  #successor: LogFile | undefined;
  #isRunning = true;

  constructor(
    readonly deps: ReadLogsDeps,
    readonly containerId: string,
    file: LogFile,
  ) {
    this.#file = file;
  }

  get file(): LogFile {
    return this.#file;
  }

  async next(signal: AbortSignal): Promise<Next> {
    if (this.#successor !== undefined) {
      await this.#file.close();
      this.#file = this.#successor;
      this.#successor = undefined;
      return "replaced";
    }
    if (!this.#isRunning) return "ended";
    if (this.#watcher === undefined) {
      this.#watcher = new LogWatcher(this.#file.path, this.deps.clock);
      // The watch does not report what was written before it started.
      return "more";
    }
    try {
      this.#isRunning = await this.deps.isContainerRunning(this.containerId, signal);
      if (this.#isRunning) await this.#watcher.wait(signal);
    } catch (error) {
      if (signal.aborted) return "ended";
      throw error;
    }
    // The runtime writes to the old file until it has created the new one, so the rest of the old one comes first.
    this.#successor = await this.#file.successor();
    return "more";
  }

  async close(): Promise<void> {
    this.#watcher?.[Symbol.dispose]();
    await this.#successor?.close();
    await this.#file.close();
  }
}

const QUOTED_BYTES = 64;

/** Reports malformed lines once. Upstream logs each of them; a file of another kind would have millions. */
class BrokenLines {
  #count = 0;
  #first = "";

  constructor(
    readonly path: string,
    readonly trace: Trace,
  ) {}

  add(line: Buffer, problem: string): void {
    this.#count++;
    if (this.#count > 1) return;
    this.#first = `${problem}: ${JSON.stringify(line.subarray(0, QUOTED_BYTES).toString("utf8"))}`;
  }

  report(): void {
    if (this.#count === 0) return;
    const lines = this.#count === 1 ? "a line" : `${this.#count} lines`;
    this.trace.emit(
      { kind: "error", message: `${lines} of ${this.path} cannot be parsed as a log: ${this.#first}` },
      { actor: "kubelet", level: 1 },
    );
  }
}
