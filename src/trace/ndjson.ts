import { closeSync, openSync, writeSync } from "node:fs";
import { LabError } from "../util/errors.js";
import { describeFileError } from "../util/files.js";
import type { TraceEvent } from "./events.js";
import type { TraceSink } from "./trace.js";

/** One JSON object per line, all levels, as they happen: a killed run leaves a file that is good to its last line. */
export class NdjsonSink implements TraceSink {
  #fd: number | undefined;
  #failure: LabError | undefined;

  /** @throws LabError BAD_FILE when the file cannot be written: before anything else has happened */
  constructor(readonly path: string) {
    try {
      this.#fd = openSync(path, "w", 0o600);
    } catch (cause) {
      throw cannotWrite(path, cause);
    }
  }

  /** A disk that fills up does not end what is being traced: it is told at the end. */
  write(event: TraceEvent): void {
    if (this.#fd === undefined || this.#failure !== undefined) return;
    try {
      writeSync(this.#fd, `${JSON.stringify(event)}\n`);
    } catch (cause) {
      this.#failure = cannotWrite(this.path, cause);
    }
  }

  /** @throws LabError BAD_FILE when the file is not complete */
  async close(): Promise<void> {
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = undefined;
    if (this.#failure !== undefined) throw this.#failure;
  }
}

function cannotWrite(path: string, cause: unknown): LabError {
  const why = describeFileError(cause);
  const hint = "Name a file in a folder that you may write to, with room for it.";
  return new LabError("BAD_FILE", `cannot write the trace to ${path}: ${why}`, hint, { cause });
}
