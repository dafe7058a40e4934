import { closeSync, constants, openSync, writeSync } from "node:fs";
import type { Clock } from "../../util/clock.js";

type LogStream = "stdout" | "stderr";

/** Longer lines are written in parts, as runtimes do. */
const MAX_LINE_BYTES = 16 * 1024;
const NEWLINE = 0x0a;
const MODE = 0o640;
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

/**
 * Writes the log of a virtual pod in the format of the CRI (`2026-01-01T00:00:00.000Z stdout F text`). Complete lines
 * are in the file when `write` returns.
 */
export class HandlerLog {
  #fd: number | undefined;
  readonly #open: Record<LogStream, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };

  constructor(
    readonly path: string,
    readonly clock: Clock,
  ) {
    this.#fd = openSync(path, FLAGS, MODE);
  }

  write(stream: LogStream, bytes: Uint8Array): void {
    let rest = Buffer.concat([this.#open[stream], bytes]);
    const out: Buffer[] = [];
    for (;;) {
      const at = rest.indexOf(NEWLINE);
      const length = at < 0 ? rest.length : at;
      if (length > MAX_LINE_BYTES) {
        out.push(this.#line(stream, "P", rest.subarray(0, MAX_LINE_BYTES)));
        rest = rest.subarray(MAX_LINE_BYTES);
      } else if (at >= 0) {
        out.push(this.#line(stream, "F", rest.subarray(0, at)));
        rest = rest.subarray(at + 1);
      } else break;
    }
    this.#open[stream] = Buffer.from(rest);
    this.#append(Buffer.concat(out));
  }

  /** Writes what is left without a line feed as a partial line. Safe to call twice. */
  close(): void {
    for (const stream of ["stdout", "stderr"] as const) {
      const rest = this.#open[stream];
      this.#open[stream] = Buffer.alloc(0);
      if (rest.length > 0) this.#append(this.#line(stream, "P", rest));
    }
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** The kubelet has moved the file away, to rotate it. */
  reopen(): void {
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = openSync(this.path, FLAGS, MODE);
  }

  #line(stream: LogStream, tag: "F" | "P", content: Buffer): Buffer {
    const time = new Date(this.clock.now()).toISOString();
    return Buffer.concat([Buffer.from(`${time} ${stream} ${tag} `), content, Buffer.of(NEWLINE)]);
  }

  #append(bytes: Buffer): void {
    if (this.#fd === undefined || bytes.length === 0) return;
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
    } catch {
      // The disk is full or the folder is gone: the handler continues without its log.
      closeSync(this.#fd);
      this.#fd = undefined;
    }
  }
}
