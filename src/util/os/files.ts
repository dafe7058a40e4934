import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { link, mkdir, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { LabError, messageOf } from "../errors.js";
import { isAlive } from "./processes.js";
import { readFileAtMost } from "./read-at-most.js";

export interface WriteOptions {
  /** permission bits of the new file, also if it replaces another: 0o600 for keys; default 0o644 */
  readonly mode?: number;
}

/**
 * Writes a file atomically: a reader, or a run after a crash, finds the old or the new content. Uses a temporary file
 * in the same folder, fsync, rename, and fsync of the folder. Creates a missing folder.
 *
 * Mirrors k8s.io/client-go/util/certificate/certificate_store.go (Update), which renames a symbolic link instead.
 * @throws LabError BAD_FILE
 */
export async function writeFileAtomic(
  path: string,
  content: string | Buffer,
  options: WriteOptions = {},
): Promise<void> {
  const write = (temporary: string) => writeSynced(temporary, content, options.mode ?? 0o644);
  await writable(path, () => replaceFile(path, write));
}

/**
 * Writes a file atomically unless it exists: of several writers, one wins. Creates a missing folder.
 * @returns false if the file exists
 * @throws LabError BAD_FILE
 */
export async function createFileAtomic(path: string, content: string, options: WriteOptions = {}): Promise<boolean> {
  let isCreated = true;
  const write = (temporary: string) => writeSynced(temporary, content, options.mode ?? 0o644);
  await writable(path, async () => {
    isCreated = await createFile(path, write);
  });
  return isCreated;
}

/**
 * Gives a file that `write` fills its name unless that is taken: a reader never sees a part of it, and of several writers
 * one wins.
 * @returns false if the name is taken
 * @throws the error of `write`; the file system's error
 */
export function createFile(path: string, write: (temporary: string) => Promise<void>): Promise<boolean> {
  return withTemporary(path, async (temporary) => {
    await write(temporary);
    try {
      await link(temporary, path);
      await rm(temporary);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "EPERM" && code !== "ENOTSUP") throw error;
      // A file system without hard links: an empty file takes the name.
      await writeFile(path, "", { flag: "wx" });
      await rename(temporary, path);
    }
    return true;
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") return false;
    throw error;
  });
}

async function writable(path: string, write: () => Promise<void>): Promise<void> {
  const folder = dirname(path);
  try {
    await makeFolder(folder);
    await write();
    await syncFolder(folder);
  } catch (error) {
    throw new LabError("BAD_FILE", `cannot write ${path}: ${describeFileError(error)}`, writeHint(error), {
      cause: error,
    });
  }
}

/**
 * Replaces a file by a temporary one that `write` fills. Concurrent writers, also of other processes, are safe: each
 * has its own temporary file, and the last rename wins.
 * @throws the error of `write`; the file system's error
 */
export function replaceFile(path: string, write: (temporary: string) => Promise<void>): Promise<void> {
  return withTemporary(path, async (temporary) => {
    await write(temporary);
    await rename(temporary, path);
  });
}

/** The synchronous form. The file has mode 0600. */
export function replaceFileSync(path: string, content: string): void {
  const temporary = temporaryOf(path);
  try {
    writeFileSync(temporary, content, { flag: "wx", mode: 0o600 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Temporary files that this process is writing. */
const inUse = new Set<string>();

async function withTemporary<T>(path: string, use: (temporary: string) => Promise<T>): Promise<T> {
  const temporary = temporaryOf(path);
  inUse.add(temporary);
  try {
    return await use(temporary);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    inUse.delete(temporary);
  }
}

/** `.kubelet.pem.4711.0a1b2c3d.tmp`: the process that writes it, and a random number. */
function temporaryOf(path: string): string {
  const unique = `${process.pid}.${randomBytes(4).toString("hex")}`;
  return join(dirname(path), `.${basename(path)}.${unique}.tmp`);
}

const TEMPORARY = /^\.(.+)\.(\d+)\.[0-9a-f]{8}\.tmp$/;

/** The name of the file that a temporary file was to replace; undefined for any other name. */
export function targetOfTemporary(name: string): string | undefined {
  return TEMPORARY.exec(name)?.[1];
}

/** Removes the temporary files of killed processes. @param targets names of the files that they were to replace */
export async function removeAbandoned(folder: string, targets: readonly string[]): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, target = "", pid] = TEMPORARY.exec(name) ?? [];
    if (!targets.includes(target) || inUse.has(join(folder, name))) continue;
    // A file with our own PID is from an earlier process: in a container the next process gets the same PID.
    if (Number(pid) === process.pid || !(await isAlive(Number(pid)))) await rm(join(folder, name), { force: true });
  }
}

/** The text of a file; undefined if it does not exist. @throws LabError BAD_FILE if it cannot be read */
export async function readIfThere(path: string, signal?: AbortSignal): Promise<string | undefined> {
  try {
    return (await readFileAtMost(path, signal)).toString();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new LabError("BAD_FILE", `cannot read ${path}: ${describeFileError(cause)}`, "Check its permissions.", {
      cause,
    });
  }
}

/**
 * Creates a folder and its parents; an existing one is fine.
 *
 * Not mkdir's `recursive`: on Node 20 that loops forever where a parent exists but refuses (/proc), and reports a
 * read-only parent as "no such file". Asynchronous, because creating a file takes a file system between 5 and 300 µs.
 * @throws the file system's error
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) await makeFolder(parent, mode);
  await mkdir(path, mode).catch((error: unknown) => refuseUnlessFolder(path, error));
}

/** The synchronous form. */
export function makeFolderSync(path: string, mode = 0o777): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeFolderSync(parent, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    refuseUnlessFolder(path, error);
  }
}

/** Another process may create the same folder at the same time. */
function refuseUnlessFolder(path: string, error: unknown): void {
  if (isFolder(path)) return;
  const isFile = (error as NodeJS.ErrnoException).code === "EEXIST";
  throw isFile
    ? Object.assign(new Error("not a folder", { cause: error }), { code: "ENOTDIR", syscall: "mkdir" })
    : error;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false; // mkdir will report what is wrong with the path.
  }
}

async function writeSynced(path: string, content: string | Buffer, mode: number): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    await file.chmod(mode); // open() reduces its mode by the umask
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A rename, or a new file, is durable only after an fsync of its folder. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } catch {
    // Some file systems refuse fsync of a folder. The content is safe, and the rename soon will be.
  } finally {
    await handle.close();
  }
}

/** `no such file or folder` instead of `ENOENT: …, open '…'`. */
export function describeFileError(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  switch (code) {
    case "ENOENT":
      return "no such file or folder";
    case "EACCES":
    case "EPERM":
      return "permission denied";
    case "ENOTDIR":
      return "a part of the path is a file, not a folder";
    case "EISDIR":
      return "it is a folder";
    case "EROFS":
      return "the file system is read-only";
    case "ENOSPC":
      return "no space left on the device";
    default:
      return messageOf(error);
  }
}

function writeHint(error: unknown): string {
  return (error as { code?: unknown } | null)?.code === "ENOSPC"
    ? "Free some space, then run the same command again."
    : "Name a folder that you can write to.";
}
