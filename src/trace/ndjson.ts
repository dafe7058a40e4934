import { closeSync, openSync, writeSync } from "node:fs";
import { LabError } from "../util/errors.js";
import type { TraceEvent } from "./events.js";
import type { TraceSink } from "./trace.js";

/** One JSON object per line, all levels, as they happen: a killed run leaves a file that is good to its last line. */
export class NdjsonSink implements TraceSink {
  #fd: number | undefined;

  /** @throws LabError BAD_FILE when the file cannot be written: before anything else has happened */
  constructor(path: string) {
    try {
      this.#fd = openSync(path, "w", 0o600);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new LabError(
        "BAD_FILE",
        `cannot write the trace to ${path}: ${why}`,
        "Name a file in a folder that you may write to.",
        { cause },
      );
    }
  }

  write(event: TraceEvent): void {
    if (this.#fd !== undefined) writeSync(this.#fd, `${JSON.stringify(event)}\n`);
  }

  async close(): Promise<void> {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}
