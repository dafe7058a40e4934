import { readdirSync, readFileSync } from "node:fs";
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

/** Ends the processes whose environment has this variable with this value, also those that have left their process group. */
export function killMarked(name: string, value: string): void {
  const mark = `\0${name}=${value}\0`;
  for (const pid of readFolder("/proc")) {
    if (/^\d+$/.test(pid) && `\0${readText(`/proc/${pid}/environ`)}`.includes(mark)) endOne(Number(pid));
  }
}

function readFolder(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    // This system has no /proc.
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process has ended, or belongs to somebody else.
    return "";
  }
}

function endOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
