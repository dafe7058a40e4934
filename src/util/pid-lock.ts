import { rm, writeFile } from "node:fs/promises";
import { LabError } from "./errors.js";
import { describeFileError, readIfThere } from "./files.js";
import { isAlive, markOf } from "./processes.js";

/** A lock that somebody left is removed, and the next try may meet somebody who was faster. */
const MAX_TRIES = 3;

/** What became of asking for a lock. `pid`: of the process that holds it. */
export type LockOutcome =
  | { readonly outcome: "taken"; readonly lock: AsyncDisposable }
  | { readonly outcome: "held"; readonly pid: number };

/**
 * Makes a file that says that this process is the only one at something, until it is disposed of. One whose process was
 * killed does not count. Its folder must be there.
 * @param hint what to do where the file cannot be written
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
        throw new LabError("BAD_FILE", `${path} cannot be written: ${describeFileError(cause)}`, hint, { cause });
      }
      await rm(path, { force: true });
    }
  }
}

/** @returns the process that runs and has locked it; undefined: nobody. @throws LabError BAD_FILE */
export async function lockHolder(path: string): Promise<number | undefined> {
  const [, digits, start = ""] = /^(\d+) ?(\d*)\n$/.exec((await readIfThere(path)) ?? "") ?? [];
  const pid = Number(digits);
  // With our own number it was somebody before us: in a container the next process has the number of the last one.
  if (digits === undefined || pid === process.pid || !(await isAlive(pid)) || (await markOf(pid)) !== start) {
    return undefined;
  }
  return pid;
}
