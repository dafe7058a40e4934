import { type FSWatcher, watch } from "node:fs";
import { constants, type FileHandle, open, realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { ChildAbort } from "../../../util/async/abort.js";
import type { Clock } from "../../../util/clock.js";
import { LogError } from "./options.js";
import { findTailLineStart } from "./tail.js";

const BLOCK_BYTES = 64 * 1024;
/** logForceCheckPeriod: the file is checked at this interval, whatever the watch reports. */
const LOG_FORCE_CHECK_PERIOD_MS = 1000;

/** Resolves links, because a watch does not follow them. Mirrors the beginning of ReadLogs. @throws LogError */
export async function resolveLogPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const why = fileProblem("lstat", path, error);
    throw new LogError(`failed to try resolving symlinks in path ${JSON.stringify(path)}: ${why}`);
  }
}

/** In Go's words: `open /x: no such file or directory`. */
function fileProblem(operation: string, path: string, error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  const words: Readonly<Record<string, string>> = {
    ENOENT: "no such file or directory",
    EACCES: "permission denied",
    ENOTDIR: "not a directory",
    ELOOP: "too many levels of symbolic links",
  };
  return `${operation} ${path}: ${words[code ?? ""] ?? (error as Error).message}`;
}

/** A log file that is read from any position. Only regular files: opening a pipe would wait for its writer. */
export class LogFile implements AsyncDisposable {
  #position = 0;
  #closed: Promise<void> | undefined;

  private constructor(
    readonly path: string,
    readonly handle: FileHandle,
    readonly inode: bigint,
    readonly device: bigint,
  ) {}

  /** @throws LogError; for a missing file when `mayBeMissing` is not set */
  static async open(path: string): Promise<LogFile> {
    let handle: FileHandle;
    try {
      handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      throw openError(path, fileProblem("open", path, error));
    }
    const { ino, dev, ...stats } = await handle.stat({ bigint: true });
    if ((stats.mode & BigInt(constants.S_IFMT)) === BigInt(constants.S_IFREG)) {
      return new LogFile(path, handle, ino, dev);
    }
    await handle.close();
    throw openError(path, "it is not a regular file");
  }

  /** Seeks to the beginning of the last `lines` lines. @throws LogError */
  async seekTail(lines: number | undefined): Promise<void> {
    try {
      this.#position = await findTailLineStart(this.handle, (await this.handle.stat()).size, lines);
    } catch (error) {
      const why = fileProblem("read", this.path, error);
      throw new LogError(`failed to tail ${lines} lines of log file ${JSON.stringify(this.path)}: ${why}`);
    }
  }

  /** @returns a new buffer; undefined at the current end of the file. @throws LogError */
  async read(): Promise<Buffer | undefined> {
    try {
      const block = Buffer.allocUnsafe(BLOCK_BYTES);
      const { bytesRead } = await this.handle.read(block, 0, BLOCK_BYTES, this.#position);
      this.#position += bytesRead;
      return bytesRead === 0 ? undefined : block.subarray(0, bytesRead);
    } catch (error) {
      const why = fileProblem("read", this.path, error);
      throw new LogError(`failed to read log file ${JSON.stringify(this.path)}: ${why}`);
    }
  }

  /**
   * The file that has replaced this one since it was opened (rotation renamed this one). A truncated file is read from
   * its beginning again.
   * @returns undefined: none has, or it does not exist yet. @throws LogError
   */
  async successor(): Promise<LogFile | undefined> {
    const now = await stat(this.path, { bigint: true }).catch(() => undefined);
    if (now === undefined) return undefined;
    if (now.ino !== this.inode || now.dev !== this.device) return LogFile.open(this.path);
    if (now.size < BigInt(this.#position)) this.#position = 0;
    return undefined;
  }

  close(): Promise<void> {
    this.#closed ??= this.handle.close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function openError(path: string, why: string): LogError {
  return new LogError(`failed to open log file ${JSON.stringify(path)}: ${why}`);
}

/**
 * Waits for changes of a file. Watches the folder, so that it also sees a replacement of the file.
 *
 * Mirrors waitLogs in pkg/kubelet/kuberuntime/logs/logs.go.
 * Differs: if no watch is available (their number is limited), the file is only checked every second.
 */
export class LogWatcher implements Disposable {
  readonly #watcher: FSWatcher | undefined;
  #hasChanged = false;
  #wake: (() => void) | undefined;

  constructor(
    path: string,
    readonly clock: Clock,
  ) {
    try {
      this.#watcher = watch(dirname(path), (_type, name) => {
        if (name === null || name === basename(path)) this.#changed();
      });
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch {
      // Without a watch only the period remains.
    }
  }

  #changed(): void {
    this.#hasChanged = true;
    this.#wake?.();
  }

  /** Resolves when the file may have changed since the last wait. @throws the signal's reason */
  async wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#hasChanged) {
      using period = new ChildAbort(signal);
      this.#wake = () => period.abort();
      await this.clock.sleep(LOG_FORCE_CHECK_PERIOD_MS, period.signal).catch(() => {
        // A change came first.
      });
      this.#wake = undefined;
    }
    this.#hasChanged = false;
    signal.throwIfAborted();
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
  }
}
