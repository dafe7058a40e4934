import { statusError } from "../../../../staging/apimachinery/errors.js";
import { describeFileError } from "../../../../util/os/files.js";
import type { FsyncPolicy } from "./config.js";
import type { LogFile, OpenLogFile } from "./log-file.js";
import { encodeRecord } from "./record.js";
import { changeJson } from "./replay.js";

/** The largest batch: more waits for the next one. */
const MAX_BATCH = 512;

interface Waiting {
  readonly key: string;
  readonly value: string | undefined;
  /** applies the change, which has been written */
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

export interface LogDeps {
  readonly open: OpenLogFile;
  /** called between two batches when the log has reached `maxBytes` */
  readonly onFull: () => Promise<void>;
  /** gets the first of several refusals for the same reason */
  readonly report: (text: string) => void;
}

export interface LogOptions {
  readonly fsync: FsyncPolicy;
  readonly maxBytes: number;
}

/**
 * Writes changes in front of their effect. Those that arrive while a batch is being written form the next one (group commit), so an
 * fsync is shared by as many writers as there are, and a single writer waits for no other.
 *
 * Mirrors go.etcd.io/etcd/server/storage/wal/wal.go (Save).
 */
export class WriteAheadLog {
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  #file: LogFile;
  #size: number;
  /** of the last change */
  #revision: number;
  /** the newest revision that an fsync has covered */
  #synced: number;
  #problem: string | undefined;
  /** why the last write was refused; undefined if it was not */
  #refusal: string | undefined;
  #isClosed = false;
  /** when the log is next full */
  #fullAt: number;

  /**
   * @param file written up to `size`
   * @param revision of its last change
   */
  constructor(
    readonly deps: LogDeps,
    readonly options: LogOptions,
    file: LogFile,
    size: number,
    revision: number,
  ) {
    this.#file = file;
    this.#size = size;
    this.#revision = revision;
    this.#synced = revision;
    this.#fullAt = options.maxBytes;
  }

  /** of the file; bytes */
  get size(): number {
    return this.#size;
  }

  /** Why the last write was refused, such as a full disk; the next one may succeed. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Why nothing can be written any more. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * Resolves with what `apply` returns. It is called when the change has been written, in the order of revisions.
   * @param value JSON; undefined: the key is deleted
   * @throws StatusError 500 when the file system refuses; nothing has changed then
   */
  commit<T>(key: string, value: string | undefined, apply: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ key, value, done: () => resolve(apply()), failed: reject });
      this.#flushing ??= this.#flush();
    });
  }

  async #flush(): Promise<void> {
    // Requests that arrived together share the first batch, too.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.options.fsync === "always" ? 1 : MAX_BATCH);
      try {
        await this.#write(batch);
      } catch (error) {
        for (const { failed } of batch) failed(error);
        continue;
      }
      this.#revision += batch.length;
      for (const { done } of batch) done();
      if (this.#size >= this.#fullAt) await this.#fill();
    }
    // At once, so that the next change starts the next flush.
    this.#flushing = undefined;
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const file = this.#file;
    if (this.#isClosed) throw refused(file.path, "the cluster ends");
    if (this.#problem !== undefined) throw refused(file.path, this.#problem);
    const lines = batch.map(({ key, value }, index) => {
      const revision = this.#revision + 1 + index;
      return encodeRecord(changeJson({ revision, synced: this.#synced }, key, value));
    });
    const bytes = Buffer.concat(lines);
    await file.write(bytes, this.#size).catch((error: unknown) => this.#takeBack(error));
    if (this.options.fsync !== "never") {
      await file.sync().catch((error: unknown) => this.#giveUp(error));
      this.#synced = this.#revision + batch.length;
    }
    this.#size += bytes.length;
    this.#refusal = undefined;
  }

  /** Removes what was written of a batch. */
  async #takeBack(error: unknown): Promise<never> {
    await this.#file.truncate(this.#size).catch((second: unknown) => this.#giveUp(second));
    throw this.#refused(describeFileError(error));
  }

  /** After a failed fsync it is unknown what the disk has: a second fsync can succeed although the data was not written. */
  #giveUp(error: unknown): never {
    this.#problem = `${describeFileError(error)}; nothing is written until the cluster starts again`;
    throw this.#refused(this.#problem);
  }

  #refused(why: string) {
    const error = refused(this.#file.path, why);
    if (why !== this.#refusal) this.deps.report(error.message);
    this.#refusal = why;
    return error;
  }

  async #fill(): Promise<void> {
    await this.deps.onFull().catch(() => {
      // It cannot begin another file, so it continues this one.
      this.#fullAt = this.#size + this.options.maxBytes;
    });
  }

  /** Continues in a new file. Only `onFull` calls it. @throws the file system's error */
  async continueIn(path: string): Promise<void> {
    // A log that has a successor is complete, whatever the policy.
    await this.#file.sync();
    const next = await this.deps.open(path);
    const before = this.#file;
    this.#file = next;
    this.#size = 0;
    this.#synced = this.#revision;
    this.#fullAt = this.options.maxBytes;
    await before.close();
  }

  /** Writes what waits, and closes the file. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.#flushing;
    this.#isClosed = true;
    if (this.#problem === undefined) await this.#file.sync().catch(() => {});
    await this.#file.close();
  }
}

/** As the API server answers when etcd refuses a write. Mirrors ErrorToAPIStatus in responsewriters/status.go. */
function refused(path: string, why: string) {
  return statusError(500, undefined, `cannot write ${path}: ${why}`);
}
