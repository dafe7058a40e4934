import { appendFileSync } from "node:fs";
import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive, killGroup } from "../util/processes.js";

/** Folders of labs: `kubelab-lab-<pid>-XXXXXX`. What is left of a process that was killed is known by its number. */
const PREFIX = "kubelab-lab-";
/** Groups of processes that a lab keeps running, one number a line. */
const RUNNING = ".running";

/** For mkdtemp. */
export function labFolderPrefix(): string {
  return join(tmpdir(), `${PREFIX}${process.pid}-`);
}

/** Leaves to be found that the lab has started this group of processes. At once: the lab may be killed the moment after. */
export function noteRunning(folder: string, pid: number): void {
  try {
    appendFileSync(join(folder, RUNNING), `${pid}\n`);
  } catch {
    // The lab ends just now: its folder is gone, and so is the process.
  }
}

/** Takes away what labs have left whose process was killed: programs that they kept running, folders. */
export async function clearLeftovers(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1] ?? Number.NaN);
    if (!Number.isInteger(pid) || (await isAlive(pid))) continue;
    const folder = join(tmpdir(), name);
    await endGroups(folder);
    await rm(folder, { recursive: true, force: true }).catch(() => {
      // Somebody else's: it is theirs to take away.
    });
  }
}

async function endGroups(folder: string): Promise<void> {
  const running = await readFile(join(folder, RUNNING), "utf8").catch(() => "");
  for (const pid of running.split("\n").map(Number)) {
    // A number may belong to somebody else meanwhile: only who works in the lab's folder is meant.
    const cwd = pid > 1 ? await readlink(`/proc/${pid}/cwd`).catch(() => "") : "";
    if (cwd !== folder && !cwd.startsWith(`${folder}/`)) continue;
    killGroup(pid);
  }
}
