import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Trace } from "../../trace/trace.js";
import { until } from "../../trace/until.js";
import { allUntilOneEnds } from "../../util/async/concurrency.js";
import { Mutex } from "../../util/async/mutex.js";
import type { Clock } from "../../util/clock.js";
import { describeFileError } from "../../util/os/files.js";
import { readFileAtMost } from "../../util/os/read-at-most.js";
import { withoutEnding } from "../../util/text/linear-text.js";
import { getPodFullName } from "../types/pod-update.js";
import { decodeSinglePod } from "./decode.js";
import { FileObserver } from "./file-observer.js";
import { type PathWatcher, watchPath } from "./file-watch.js";
import type { SourceChannel } from "./pod-config.js";

/** The folder is read again at this interval, whatever the watch reports. Mirrors fileCheckFrequency. */
export const FILE_CHECK_FREQUENCY_MS = 20_000;
/** First and longest delay before a broken watch is tried again. Mirrors file_linux.go. */
export const FILE_WATCH_RETRY_MS = 1_000;
export const FILE_WATCH_MAX_RETRY_MS = 20_000;

export interface FileSourceDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  /** default: inotify */
  readonly watch?: PathWatcher;
  /** the id of the fact that changed a file; asked once per change. Default: none is known */
  readonly causeOf?: (path: string) => string | undefined;
}

export interface FileSourceOptions {
  /** a folder of manifests, or one manifest */
  readonly path: string;
  readonly nodeName: string;
  /** default: 20 s */
  readonly periodMs?: number;
}

/**
 * Static pods from files: read at the start, after each change that the watch reports, and every 20 s.
 *
 * A file that cannot be used is reported and left out; the others count. Two surprises are upstream's: a manifest that
 * breaks keeps its pod until the next full read, which ends it; and if two files hold a pod of the same name, the file
 * that was read last counts.
 *
 * Mirrors pkg/kubelet/config/file.go and file_linux.go (sourceFile).
 */
export class FileSource {
  /** by full name, as upstream's store */
  readonly #store = new Map<string, V1Pod>();
  readonly #fileKeyMapping = new Map<string, string>();
  readonly #observer: FileObserver;
  readonly #reading = new Mutex();
  readonly #path: string;

  constructor(
    readonly deps: FileSourceDeps,
    readonly options: FileSourceOptions,
    readonly channel: SourceChannel,
  ) {
    this.#observer = new FileObserver(deps.trace);
    this.#path = options.path.length > 1 ? withoutEnding(options.path, "/") : options.path;
  }

  /** @throws the signal's reason */
  async run(signal: AbortSignal): Promise<never> {
    await allUntilOneEnds(signal, [(inner) => this.#listLoop(inner), (inner) => this.#watchLoop(inner)]);
    signal.throwIfAborted();
    throw new Error("the file source ended by itself");
  }

  /** Reads all manifests again. Mirrors listConfig. */
  async listConfig(signal: AbortSignal): Promise<void> {
    await this.#reading.run(async () => {
      const files = await this.#files();
      if (files === undefined) return;
      const before = this.#observer.badFiles();
      this.#store.clear();
      this.#fileKeyMapping.clear();
      for (const file of files) {
        before.delete(file);
        await this.#take(file);
      }
      for (const file of before) if (file !== this.#path) this.#observer.usable(file);
      await this.#send(signal);
    });
  }

  /** Mirrors consumeWatchEvent. @param file that was created, written, renamed or removed */
  async consumeWatchEvent(file: string, signal: AbortSignal): Promise<void> {
    if (basename(file).startsWith(".")) return;
    await this.#reading.run(async () => {
      if (await isThere(file)) {
        if (!(await this.#take(file))) return;
      } else {
        const key = this.#fileKeyMapping.get(file);
        this.#observer.usable(file);
        if (key === undefined) return;
        this.#fileKeyMapping.delete(file);
        this.#store.delete(key);
        this.#observer.fileGone(file);
      }
      await this.#send(signal);
    });
  }

  async #listLoop(signal: AbortSignal): Promise<void> {
    await until(this.deps, this.options.periodMs ?? FILE_CHECK_FREQUENCY_MS, () => this.listConfig(signal), signal, {
      what: "read the manifests",
      setBy: "fileCheckFrequency",
    });
  }

  /** Mirrors startWatch and doWatch. */
  async #watchLoop(signal: AbortSignal): Promise<void> {
    const { clock, trace, watch = watchPath, causeOf } = this.deps;
    let backoffMs = FILE_WATCH_RETRY_MS;
    for (;;) {
      try {
        for await (const file of watch(this.#path, signal)) {
          backoffMs = FILE_WATCH_RETRY_MS;
          const causedBy = causeOf?.(file);
          const take = () => this.consumeWatchEvent(file, signal);
          await (causedBy === undefined ? trace.origin("observed", take) : trace.because({ causedBy }, take));
        }
      } catch (error) {
        signal.throwIfAborted();
        this.#pathProblem(error);
        if (!isMissing(error)) backoffMs = Math.min(backoffMs * 2, FILE_WATCH_MAX_RETRY_MS);
      }
      signal.throwIfAborted();
      await clock.sleep(backoffMs, signal);
      // Catches up with changes while no watch was running.
      await trace.origin("timer", () => this.listConfig(signal));
    }
  }

  /** @returns the manifests, sorted; undefined if they cannot be listed: then the known pods stay */
  async #files(): Promise<string[] | undefined> {
    try {
      const found = await stat(this.#path);
      if (found.isFile()) return [this.#path];
      if (!found.isDirectory()) throw new Error("path is not a directory or file");
      const names = (await readdir(this.#path)).filter((name) => !name.startsWith("."));
      this.#observer.usable(this.#path);
      return names.sort().map((name) => join(this.#path, name));
    } catch (error) {
      // A missing folder counts as an empty one: the source has reported that it has no pods.
      this.#pathProblem(error);
      return isMissing(error) ? [] : undefined;
    }
  }

  /** @returns false when the file cannot be used */
  async #take(file: string): Promise<boolean> {
    try {
      const found = await stat(file);
      if (found.isDirectory()) throw new Error("it is a folder; subfolders of the manifest folder are not read");
      if (!found.isFile()) throw new Error("it is not a regular file");
      const { nodeName } = this.options;
      const origin = { source: file, isFile: true, nodeName };
      const pod = await decodeSinglePod((await readFileAtMost(file)).toString(), origin);
      this.#keep(file, pod);
      this.#observer.usable(file);
      return true;
    } catch (error) {
      this.#observer.fileUnusable(file, describeFileError(error));
      return false;
    }
  }

  #keep(file: string, pod: V1Pod): void {
    const key = getPodFullName(pod);
    const existing = this.#store.get(key);
    const other = [...this.#fileKeyMapping].find(([name, itsKey]) => name !== file && itsKey === key)?.[0];
    if (existing !== undefined && other !== undefined && existing.metadata.uid !== pod.metadata.uid) {
      this.#observer.nameTaken(pod, file, other);
    }
    this.#store.set(key, pod);
    this.#fileKeyMapping.set(file, key);
  }

  #send(signal: AbortSignal): Promise<void> {
    return this.channel({ op: "SET", pods: [...this.#store.values()] }, signal);
  }

  /** Listing and watching fail in the same way, so both report the same sentence. Mirrors run in file.go and file_linux.go. */
  #pathProblem(error: unknown): void {
    this.#observer.pathUnreadable(this.#path, isMissing(error) ? undefined : describeFileError(error));
  }
}

async function isThere(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    // Any other problem shows up when the file is read.
    return !isMissing(error);
  }
}

function isMissing(error: unknown): boolean {
  return (error as { code?: unknown }).code === "ENOENT";
}
