import { appendFileSync } from "node:fs";
import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive, killGroup } from "../util/processes.js";

/** The folders of labs: `kubelab-lab-<pid>-XXXXXX`. The number identifies the leftovers of a killed process. */
const PREFIX = "kubelab-lab-";
/** The process groups that a lab keeps running, one number per line. */
const RUNNING = ".running";

/** The prefix for mkdtemp. */
export function labFolderPrefix(): string {
  return join(tmpdir(), `${PREFIX}${process.pid}-`);
}

/** Records a process group of the lab, synchronously, because the lab may be killed right after. */
export function noteRunning(folder: string, pid: number): void {
  try {
    appendFileSync(join(folder, RUNNING), `${pid}\n`);
  } catch {
    // The lab is ending: its folder and the process are gone.
  }
}

/** Stops the processes and removes the folders of killed labs. */
export async function clearLeftovers(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1] ?? Number.NaN);
    if (!Number.isInteger(pid) || (await isAlive(pid))) continue;
    const folder = join(tmpdir(), name);
    await endGroups(folder);
    await rm(folder, { recursive: true, force: true }).catch(() => {
      // Owned by another user, who can remove it.
    });
  }
}

async function endGroups(folder: string): Promise<void> {
  const running = await readFile(join(folder, RUNNING), "utf8").catch(() => "");
  for (const pid of running.split("\n").map(Number)) {
    // The number may have been reused: only stops processes that work in the lab's folder.
    const cwd = pid > 1 ? await readlink(`/proc/${pid}/cwd`).catch(() => "") : "";
    if (cwd !== folder && !cwd.startsWith(`${folder}/`)) continue;
    killGroup(pid);
  }
}
