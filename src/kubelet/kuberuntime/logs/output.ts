import type { FileLine } from "./lines.js";
import { LogError, type LogOptions, type LogPiece } from "./options.js";
import { type LineParser, type LogMessage, parserFor } from "./parse.js";

/** A line that cannot be read is left out; the trace reports why. */
export type BrokenLineObserver = (line: Buffer, problem: string) => void;

const QUOTED_BYTES = 256;

/**
 * Filters and formats the lines of a log file: start time, timestamps, limits of bytes and lines.
 *
 * Mirrors pkg/kubelet/kuberuntime/logs/logs.go (logWriter, and the loop of ReadLogs around it).
 * Differs: consecutive output of one stream comes in one piece.
 */
export class LogOutput {
  #parse: LineParser | undefined;
  #bytesLeft: number;
  /** the remaining number of lines; only without following, as a line may be added while the last ones are read */
  #linesLeft: number;
  /** the message whose end is still missing; "left-out": it was filtered out, or cannot be read */
  #open: LogMessage | "left-out" | undefined;

  constructor(
    readonly options: LogOptions,
    readonly onBroken: BrokenLineObserver,
  ) {
    const { bytes, tail, follow } = options;
    this.#bytesLeft = bytes ?? Number.POSITIVE_INFINITY;
    this.#linesLeft = tail === undefined || follow ? Number.POSITIVE_INFINITY : tail;
  }

  /** Reports that a limit has been reached. */
  get isDone(): boolean {
    return this.#bytesLeft <= 0 || this.#linesLeft <= 0;
  }

  /** @throws LogError when the first line is in no known format */
  take(lines: readonly FileLine[]): LogPiece[] {
    const runs: { readonly stream: LogPiece["stream"]; readonly parts: Buffer[] }[] = [];
    for (const line of lines) {
      if (this.isDone) break;
      const out = line.isContinued ? this.#continued(line) : this.#begun(line);
      if (out === undefined) continue;
      const bytes = out.bytes.length > this.#bytesLeft ? out.bytes.subarray(0, this.#bytesLeft) : out.bytes;
      this.#bytesLeft -= bytes.length;
      const run = runs.at(-1);
      if (run?.stream === out.stream) run.parts.push(bytes);
      else runs.push({ stream: out.stream, parts: [bytes] });
    }
    return runs.map(({ stream, parts }) => ({ stream, bytes: Buffer.concat(parts) }));
  }

  #begun({ bytes, isComplete }: FileLine): { stream: LogPiece["stream"]; bytes: Buffer } | undefined {
    this.#parse ??= parserFor(bytes);
    if (this.#parse === undefined) {
      const quoted = JSON.stringify(bytes.subarray(0, QUOTED_BYTES).toString("utf8"));
      throw new LogError(`failed to get parse function: unsupported log format: ${quoted}`);
    }
    const message = this.#parse(bytes);
    if ("problem" in message) {
      this.onBroken(bytes, message.problem);
      this.#open = "left-out";
      return undefined;
    }
    const { sinceMs, timestamps } = this.options;
    const isTooOld = sinceMs !== undefined && message.time.isBefore(sinceMs);
    this.#open = isTooOld ? "left-out" : message;
    if (isComplete) this.#linesLeft--;
    if (isTooOld) return undefined;
    const text = timestamps ? Buffer.concat([Buffer.from(`${message.time.format()} `), message.text]) : message.text;
    return { stream: message.stream, bytes: text };
  }

  #continued({ bytes, isComplete }: FileLine): { stream: LogPiece["stream"]; bytes: Buffer } | undefined {
    const message = this.#open;
    if (message === undefined || message === "left-out") return undefined;
    if (isComplete) this.#linesLeft--;
    // A partial line's line feed belongs to the file, not to the text.
    const isCut = isComplete && message.isPart && bytes.at(-1) === 0x0a;
    return { stream: message.stream, bytes: isCut ? bytes.subarray(0, -1) : bytes };
  }
}
