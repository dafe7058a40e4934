import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

/** A process that has ended but was not reaped is not running. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs as another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  const stat = await readFile(statPath(pid), "utf8").catch(() => "");
  return !/\) [ZX] /.test(stat);
}

/**
 * Identifies a process beyond its PID, which is reused: its start time in ticks since boot.
 * @returns "" if it is gone, or on systems other than Linux
 */
export async function markOf(pid: number): Promise<string> {
  return markIn(await readFile(statPath(pid), "utf8").catch(() => ""));
}

/** Whether a process runs and still has this mark. */
export async function isSameProcess(pid: number, mark: string): Promise<boolean> {
  return (await isAlive(pid)) && (await markOf(pid)) === mark;
}

/** As `markOf`, but synchronous. */
export function markOfNow(pid: number): string {
  try {
    return markIn(readFileSync(statPath(pid), "utf8"));
  } catch {
    return "";
  }
}

/** Ends a process, and its children if they are in its process group. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is empty.
  }
}

function statPath(pid: number): string {
  return `/proc/${pid}/stat`;
}

/** The command's name is in brackets and can contain anything: the state is the first word after the last bracket. */
function markIn(stat: string): string {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
