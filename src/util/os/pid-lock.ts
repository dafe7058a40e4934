import { rm, writeFile } from "node:fs/promises";
import { LabError } from "../errors.js";
import { describeFileError, readIfThere } from "./files.js";
import { isSameProcess, markOf } from "./processes.js";

/** Another process may take the lock between the removal of a stale one and our attempt. */
const MAX_TRIES = 3;

/** The result of taking a lock. `pid` is the process that holds it. */
export type LockOutcome =
  | { readonly outcome: "taken"; readonly lock: AsyncDisposable }
  | { readonly outcome: "held"; readonly pid: number };

/**
 * Takes a lock file until it is disposed. The lock of a killed process does not count. The folder must exist.
 * @param hint what to do if the file cannot be written
 * @throws LabError BAD_FILE
 */
export async function tryLock(path: string, hint: string): Promise<LockOutcome> {
  const ours = `${process.pid} ${await markOf(process.pid)}`.trim();
  for (let attempt = 1; ; attempt++) {
    const pid = await lockHolder(path);
    if (pid !== undefined) return { outcome: "held", pid };
    try {
      await writeFile(path, `${ours}\n`, { flag: "wx", mode: 0o600 });
      return { outcome: "taken", lock: { [Symbol.asyncDispose]: () => rm(path, { force: true }) } };
    } catch (cause) {
      if (attempt === MAX_TRIES || (cause as { code?: unknown }).code !== "EEXIST") {
        throw new LabError("BAD_FILE", `cannot write ${path}: ${describeFileError(cause)}`, hint, { cause });
      }
      await rm(path, { force: true });
    }
  }
}

/** @returns the running process that holds the lock; undefined if the lock is free @throws LabError BAD_FILE */
export async function lockHolder(path: string): Promise<number | undefined> {
  const [, digits, start = ""] = /^(\d+)(?: (\d*))?\n$/.exec((await readIfThere(path)) ?? "") ?? [];
  const pid = Number(digits);
  // A lock with our own PID is from an earlier process: in a container the next process gets the same PID.
  if (digits === undefined || pid === process.pid || !(await isSameProcess(pid, start))) {
    return undefined;
  }
  return pid;
}
