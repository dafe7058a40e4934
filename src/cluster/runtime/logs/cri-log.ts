import { closeSync, constants, openSync, writeSync } from "node:fs";
import { rfc3339Nano } from "../nano-time.js";

/** containerd's max_container_log_line_size: longer lines are split. */
export const MAX_LINE_BYTES = 16 * 1024;
const NEWLINE = 0x0a;
const MODE = 0o640;
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

export type LogStream = "stdout" | "stderr";

/**
 * A container's log in CRI format: `2026-01-01T00:00:00.000000001Z stdout F text`, with P for a partial line.
 *
 * Mirrors containerd's internal/cri/io/logger.go. The text is in the file when `write` returns.
 */
export class CriLog {
  #fd: number | undefined;
  readonly #open: Record<LogStream, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };

  /**
   * @param now nanoseconds
   * @param onLost called once if the file cannot be written; the container continues without its log
   */
  constructor(
    readonly path: string,
    readonly now: () => bigint,
    readonly onLost: (error: unknown) => void,
  ) {
    this.#fd = openSync(path, FLAGS, MODE);
  }

  /** The file was rotated away: opens a new one with the same name. */
  reopen(): void {
    const fd = openSync(this.path, FLAGS, MODE);
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = fd;
  }

  /** @returns the number of bytes that the file has grown by */
  write(stream: LogStream, bytes: Uint8Array): number {
    const before = this.#open[stream];
    let rest = before.length === 0 ? Buffer.from(bytes) : Buffer.concat([before, bytes]);
    const out: Buffer[] = [];
    for (;;) {
      const at = rest.indexOf(NEWLINE);
      const length = at < 0 ? rest.length : at;
      if (length > MAX_LINE_BYTES) {
        this.#add(out, stream, "P", rest.subarray(0, MAX_LINE_BYTES));
        rest = rest.subarray(MAX_LINE_BYTES);
      } else if (at >= 0) {
        this.#add(out, stream, "F", rest.subarray(0, at));
        rest = rest.subarray(at + 1);
      } else break;
    }
    this.#open[stream] = Buffer.from(rest);
    return this.#append(out);
  }

  /** The stream has ended: writes a last line without a newline as a partial line. */
  end(stream: LogStream): void {
    const rest = this.#open[stream];
    this.#open[stream] = Buffer.alloc(0);
    if (rest.length === 0) return;
    const out: Buffer[] = [];
    this.#add(out, stream, "P", rest);
    this.#append(out);
  }

  #add(out: Buffer[], stream: LogStream, tag: "F" | "P", content: Buffer): void {
    out.push(Buffer.from(`${rfc3339Nano(this.now())} ${stream} ${tag} `), content, Buffer.of(NEWLINE));
  }

  #append(parts: readonly Buffer[]): number {
    if (parts.length === 0 || this.#fd === undefined) return 0;
    const bytes = Buffer.concat(parts);
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
    } catch (error) {
      this.close();
      this.onLost(error);
    }
    return bytes.length;
  }

  close(): void {
    if (this.#fd === undefined) return;
    const fd = this.#fd;
    this.#fd = undefined;
    closeSync(fd);
  }
}
