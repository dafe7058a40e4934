import { closeSync, openSync, writeSync } from "node:fs";
import type { LabError } from "../../util/errors.js";
import type { TraceEvent } from "../events.js";
import { cannotWrite } from "../file/ndjson.js";
import type { TraceSink } from "../trace.js";
import { factLine, PAGE_TAIL } from "./facts.js";
import { pageHead } from "./page-head.js";

/**
 * Writes a page that shows the run as a picture. Facts are written as they happen, so that a long run needs no memory and a killed one
 * leaves a page that shows its facts up to the last line.
 */
export class HtmlSink implements TraceSink {
  #fd: number | undefined;
  #failure: LabError | undefined;
  /** facts that were reported while the page's program was loaded; undefined once it was written */
  #early: string[] | undefined = [];
  readonly #begun: Promise<void>;

  /** @throws LabError BAD_FILE if the file cannot be opened; checked before anything else happens */
  constructor(readonly path: string) {
    try {
      this.#fd = openSync(path, "w", 0o600);
    } catch (cause) {
      throw cannotWrite(path, cause);
    }
    this.#begun = this.#begin();
  }

  /** The page is loaded here because most commands do not need it. */
  async #begin(): Promise<void> {
    const head = await pageHead();
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#append(head + early.join(""));
  }

  write(event: TraceEvent): void {
    const line = factLine(event);
    if (this.#early === undefined) this.#append(line);
    else this.#early.push(line);
  }

  /** A full disk does not end the traced command; the error is reported at the end. */
  #append(text: string): void {
    if (this.#fd === undefined || this.#failure !== undefined) return;
    try {
      writeSync(this.#fd, text);
    } catch (cause) {
      this.#failure = cannotWrite(this.path, cause);
    }
  }

  /** @throws LabError BAD_FILE if the file is incomplete */
  async close(): Promise<void> {
    if (this.#fd === undefined) return;
    await this.#begun;
    this.#append(PAGE_TAIL);
    closeSync(this.#fd);
    this.#fd = undefined;
    if (this.#failure !== undefined) throw this.#failure;
  }
}
