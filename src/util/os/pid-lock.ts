import { createHash } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { LabError } from "../errors.js";
import { createFile, describeFileError, readIfThere } from "./files.js";
import { isSameProcess, markOf } from "./processes.js";

/** Other processes may take and leave the lock meanwhile. */
const MAX_TRIES = 3;

/** The result of taking a lock. `pid` is the process that holds it. */
export type LockOutcome =
  | { readonly outcome: "taken"; readonly lock: AsyncDisposable }
  | { readonly outcome: "held"; readonly pid: number };

/**
 * Takes a lock file until it is disposed. The lock of a killed process does not count. The folder must exist.
 *
 * Only the holder of a second lock, named after the content of the stale one, removes that. So a process that has read a
 * stale lock never removes the lock by which another process has replaced it.
 * @param hint what to do if the file cannot be written
 * @param read reads a lock; returns undefined without one
 * @throws LabError BAD_FILE
 */
export async function tryLock(path: string, hint: string, read = readIfThere): Promise<LockOutcome> {
  const ours = `${process.pid} ${await markOf(process.pid)}`.trim();
  const write = (temporary: string) => writeFile(temporary, `${ours}\n`, { flag: "wx", mode: 0o600 });
  const unwritable = (why: string, options?: ErrorOptions) =>
    new LabError("BAD_FILE", `cannot write ${path}: ${why}`, hint, options);
  for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
    const isTaken = await createFile(path, write).catch((cause: unknown) => {
      throw unwritable(describeFileError(cause), { cause });
    });
    if (isTaken) return { outcome: "taken", lock: { [Symbol.asyncDispose]: () => rm(path, { force: true }) } };
    const found = await read(path);
    if (found === undefined) continue;
    const pid = await holderIn(found);
    if (pid !== undefined) return { outcome: "held", pid };
    const removal = await tryLock(
      `${path}.${createHash("sha256").update(found).digest("hex").slice(0, 8)}`,
      hint,
      read,
    );
    if (removal.outcome === "held") return removal;
    await using _ = removal.lock;
    if ((await read(path)) === found) await rm(path, { force: true });
  }
  throw unwritable("other processes take and leave it");
}

/** @returns the running process that holds the lock; undefined if the lock is free @throws LabError BAD_FILE */
export async function lockHolder(path: string): Promise<number | undefined> {
  return holderIn((await readIfThere(path)) ?? "");
}

async function holderIn(content: string): Promise<number | undefined> {
  const [, digits, start = ""] = /^(\d+)(?: (\d*))?\n$/.exec(content) ?? [];
  const pid = Number(digits);
  // A lock with our own PID is from an earlier process: in a container the next process gets the same PID.
  if (digits === undefined || pid === process.pid || !(await isSameProcess(pid, start))) {
    return undefined;
  }
  return pid;
}
