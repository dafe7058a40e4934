import { rm, stat } from "node:fs/promises";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Clock } from "../../../../util/clock.js";
import { isAbortError } from "../../../../util/errors.js";
import { describeFileError } from "../../../../util/os/files.js";
import { MemoryStorage, type MemoryStorageOptions } from "../memory.js";
import { storedJson } from "../resource-version.js";
import type { ConditionalWrite, StorageHealth, StoredEntry, Transaction } from "../storage.js";
import type { DiskConfig } from "./config.js";
import { unusable } from "./damage.js";
import { type DataFiles, listDataFiles, logFile, snapshotFile } from "./data-files.js";
import { WriteAheadLog } from "./log.js";
import { type OpenLogFile, openLogFile } from "./log-file.js";
import { type LoggedChange, replayLog } from "./replay.js";
import { readSnapshot, writeSnapshot } from "./snapshot.js";

/** The log is replaced by a snapshot when it has reached this size, or that of the last snapshot. */
const MAX_LOG_BYTES = 16 * 1024 * 1024;
const FIRST_REVISION = 1;

export interface DiskStorageOptions extends MemoryStorageOptions {
  readonly maxLogBytes?: number;
}

export interface DiskStorageDeps {
  readonly clock: Clock;
  /** receives problems that no response reports: what recovery dropped, a full disk, a failed snapshot */
  readonly report: (text: string) => void;
  /** released when the storage is closed */
  readonly lock?: AsyncDisposable;
  readonly openLogFile?: OpenLogFile;
}

/**
 * The state in memory behind a log on disk. A change is written, then applied: no reader and no watcher sees what a crash could
 * take back.
 *
 * `N.snapshot` is the state at revision N, `N.log` has the changes after it. A new log begins before its snapshot is written, and
 * both files before it go when that is complete.
 *
 * Mirrors go.etcd.io/etcd/server/etcdserver/storage.go, with the log of wal/wal.go and snapshots of snap/snapshotter.go.
 */
export class DiskStorage extends MemoryStorage {
  override readonly health: StorageHealth;
  /** keys with a write that waits for the disk; resolves after it, whatever its outcome */
  readonly #pending = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  #log: WriteAheadLog | undefined;
  #snapshotting: Promise<void> | undefined;
  #closed: Promise<void> | undefined;
  /** size of the last snapshot */
  #snapshotBytes = 0;

  private constructor(
    readonly deps: DiskStorageDeps,
    readonly config: DiskConfig,
    readonly options: DiskStorageOptions,
  ) {
    const { onPublished } = options;
    // Recovery publishes to no watch, and reports nothing.
    super(deps, { ...options, onPublished: (event, watches) => this.#log && onPublished?.(event, watches) });
    const check = async () => {
      const problem = this.#log?.problem;
      if (problem !== undefined) throw new Error(problem);
    };
    const checkWrites = () => {
      const refusal = this.#log?.refusal;
      if (refusal !== undefined) throw new Error(refusal);
    };
    const writes = { name: "storage-writes", check: checkWrites, readyOnly: true };
    this.health = { checks: [{ name: "storage", check }, writes], components: [{ name: "storage", check }] };
  }

  /**
   * Continues from the folder's newest snapshot and the logs after it, or begins with an empty log.
   * @throws LabError BAD_FILE for a damaged file; the file system's error
   */
  static async open(deps: DiskStorageDeps, config: DiskConfig, options: DiskStorageOptions = {}): Promise<DiskStorage> {
    const storage = new DiskStorage(deps, config, options);
    await storage.#recover();
    return storage;
  }

  async #recover(): Promise<void> {
    const { folder } = this.config;
    const files = await listDataFiles(folder);
    const start = files.snapshots.at(-1) ?? FIRST_REVISION;
    if (files.snapshots.length > 0) {
      const path = snapshotFile(folder, start);
      await readSnapshot(path, start, (entry) => this.restore(entry));
      this.#snapshotBytes = (await stat(path)).size;
    }
    this.continueAt(start);
    await this.#removeBefore(start);
    const last = await this.#replayAll(start, files);
    const { openLogFile: openFile = openLogFile } = this.deps;
    const file = await openFile(last.path);
    await file.truncate(last.size);
    await file.sync();
    const log = { fsync: this.config.fsync, maxBytes: this.options.maxLogBytes ?? MAX_LOG_BYTES };
    const deps = { open: openFile, onFull: () => this.#onFull(), report: this.deps.report };
    this.#log = new WriteAheadLog(deps, log, file, last.size, last.revision);
  }

  /** @returns the log that is continued */
  async #replayAll(start: number, { snapshots, logs: all }: DataFiles) {
    const { folder } = this.config;
    const logs = all.filter((begin) => begin >= start);
    let last = { path: logFile(folder, start), revision: start, size: 0 };
    if (logs.length === 0 && snapshots.length > 0) throw unusable(last.path, "is missing");
    for (const begin of logs) {
      const path = logFile(folder, begin);
      if (begin !== last.revision)
        throw unusable(path, `follows revision ${begin}, and those after ${last.revision} are missing`);
      const replayed = await replayLog(path, begin, begin === logs.at(-1), (change) => this.#replay(change));
      const { size, tornBytes } = replayed;
      if (tornBytes > 0) {
        this.deps.report(`${path}: its last ${tornBytes} bytes were not written completely; cut off at byte ${size}`);
      }
      last = { path, ...replayed };
    }
    return last;
  }

  #replay({ key, value }: LoggedChange): void {
    const revision = this.entryOf(key)?.modRevision;
    if (value === undefined) void super.delete(key, revision ?? 0);
    else if (revision === undefined) void super.create(key, value);
    else void super.update(key, value, revision);
  }

  override create(key: string, object: KubeObject): Promise<StoredEntry | undefined> {
    return this.#write(key, undefined, object, () => super.create(key, object));
  }

  override update(key: string, object: KubeObject, expectedRevision: number): Promise<StoredEntry | undefined> {
    return this.#write(key, expectedRevision, object, () => super.update(key, object, expectedRevision));
  }

  override delete(key: string, expectedRevision: number): Promise<StoredEntry | undefined> {
    return this.#write(key, expectedRevision, undefined, () => super.delete(key, expectedRevision));
  }

  override explain(write: ConditionalWrite): Transaction {
    const { compare, success, failure } = super.explain(write);
    const synced = this.config.fsync === "never" ? "" : ", wait for fsync";
    return { compare, success: `append a line to the log${synced}, then ${success}`, failure };
  }

  /** Earlier writes of the same key come first: whether this one is possible depends on them. */
  async #write<T>(
    key: string,
    expectedRevision: number | undefined,
    object: KubeObject | undefined,
    apply: () => Promise<T>,
  ): Promise<T | undefined> {
    for (let earlier = this.#pending.get(key); earlier !== undefined; earlier = this.#pending.get(key)) await earlier;
    // No await from here to `set`, so that no other write comes between.
    if (this.entryOf(key)?.modRevision !== expectedRevision) return undefined;
    const value = object === undefined ? undefined : storedJson(object);
    const written = (this.#log as WriteAheadLog).commit(key, value, apply);
    const forget = () => void this.#pending.delete(key);
    this.#pending.set(key, written.then(forget, forget));
    return written;
  }

  /** Begins a log and a snapshot. @throws the file system's error */
  async #onFull(): Promise<void> {
    const log = this.#log as WriteAheadLog;
    if (this.#snapshotting !== undefined || log.size < this.#snapshotBytes) return;
    const revision = await this.currentRevision();
    const entries = this.allEntries();
    const path = logFile(this.config.folder, revision);
    try {
      await log.continueIn(path);
    } catch (error) {
      // An empty log in front of later changes of the old one would look like damage.
      await rm(path, { force: true });
      throw error;
    }
    this.#snapshotting = this.#snapshot(revision, entries).finally(() => {
      this.#snapshotting = undefined;
    });
  }

  async #snapshot(revision: number, entries: readonly StoredEntry[]): Promise<void> {
    const path = snapshotFile(this.config.folder, revision);
    try {
      await writeSnapshot(path, revision, entries, this.#closing.signal);
      this.#snapshotBytes = (await stat(path)).size;
      await this.#removeBefore(revision);
    } catch (error) {
      if (isAbortError(error)) return;
      this.deps.report(`cannot write ${path}: ${describeFileError(error)}; the log before it stays`);
    }
  }

  /** Removes what a snapshot has replaced. */
  async #removeBefore(revision: number): Promise<void> {
    const { folder } = this.config;
    const { snapshots, logs } = await listDataFiles(folder);
    for (const one of logs.filter((begin) => begin < revision)) await rm(logFile(folder, one), { force: true });
    for (const one of snapshots.filter((begin) => begin < revision))
      await rm(snapshotFile(folder, one), { force: true });
  }

  override close(): Promise<void> {
    // Once: the lock can be another process's afterwards.
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    await super.close();
    await this.#log?.close();
    await this.#snapshotting;
    await this.deps.lock?.[Symbol.asyncDispose]();
  }
}
