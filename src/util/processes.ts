import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

/** One that has ended and that nobody has asked about is not. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, as somebody else.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  const stat = await readFile(statPath(pid), "utf8").catch(() => "");
  return !/\) [ZX] /.test(stat);
}

/**
 * What tells a process from a later one of the same number: when it began, in ticks since the machine did.
 * @returns "": it is gone, or the system does not say, as elsewhere than on Linux
 */
export async function markOf(pid: number): Promise<string> {
  return markIn(await readFile(statPath(pid), "utf8").catch(() => ""));
}

/** As `markOf`, for who must not wait. */
export function markOfNow(pid: number): string {
  try {
    return markIn(readFileSync(statPath(pid), "utf8"));
  } catch {
    return "";
  }
}

/** Ends a process and all that it has started, if they are in a group of its number. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing of the group is left.
  }
}

function statPath(pid: number): string {
  return `/proc/${pid}/stat`;
}

/** The command's name is in brackets, and may hold anything: the state is the first word after the last one. */
function markIn(stat: string): string {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
