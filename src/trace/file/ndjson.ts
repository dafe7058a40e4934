import { closeSync, openSync, writeSync } from "node:fs";
import { LabError } from "../../util/errors.js";
import { describeFileError } from "../../util/os/files.js";
import type { TraceEvent } from "../events.js";
import type { TraceSink } from "../trace.js";

/**
 * The version of the lines. A change that an older reader would misread raises it. A new kind of fact does not, because
 * readers report unknown kinds by name.
 */
export const TRACE_FORMAT = 1;

/**
 * Writes one JSON object per line, at all levels, as events happen. The file of a killed run is valid up to its last
 * line. The first fact carries the format, so that every line is a fact.
 */
export class NdjsonSink implements TraceSink {
  #fd: number | undefined;
  #failure: LabError | undefined;
  #isFirst = true;

  /** @throws LabError BAD_FILE if the file cannot be opened; checked before anything else happens */
  constructor(readonly path: string) {
    try {
      this.#fd = openSync(path, "w", 0o600);
    } catch (cause) {
      throw cannotWrite(path, cause);
    }
  }

  /** A full disk does not end the traced command; the error is reported at the end. */
  write(event: TraceEvent): void {
    if (this.#fd === undefined || this.#failure !== undefined) return;
    try {
      writeSync(this.#fd, `${JSON.stringify(this.#isFirst ? { format: TRACE_FORMAT, ...event } : event)}\n`);
      this.#isFirst = false;
    } catch (cause) {
      this.#failure = cannotWrite(this.path, cause);
    }
  }

  /** @throws LabError BAD_FILE if the file is incomplete */
  async close(): Promise<void> {
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = undefined;
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** The error of a trace file that cannot be written. */
export function cannotWrite(path: string, cause: unknown): LabError {
  const why = describeFileError(cause);
  const hint = "Name a file in a writable folder with enough space.";
  return new LabError("BAD_FILE", `cannot write the trace to ${path}: ${why}`, hint, { cause });
}
