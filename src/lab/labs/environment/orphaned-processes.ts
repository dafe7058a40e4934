import { appendFileSync } from "node:fs";
import { readFile, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import { killGroup } from "../../../util/os/processes.js";
import { abandonedFolders, removeOwn, temporaryPrefix } from "../../../util/os/temporary-folder.js";

/** The folders of labs: `kubelab-lab-<pid>-XXXXXX`. The number identifies the orphaned objects of a killed process. */
const KIND = "lab";
/** The process groups that a lab keeps running, one number per line. */
const RUNNING = ".running";

/** The prefix for mkdtemp. */
export function labFolderPrefix(): string {
  return temporaryPrefix(KIND);
}

/** The file in a lab's folder to which its shells append the programs that they leave running, one PID per line. */
export function runningFile(folder: string): string {
  return join(folder, RUNNING);
}

/** Records a process group of the lab, synchronously, because the lab may be killed right after. */
export function noteRunning(folder: string, pid: number): void {
  try {
    appendFileSync(runningFile(folder), `${pid}\n`);
  } catch {
    // The lab is ending: its folder and the process are gone.
  }
}

/** Stops the processes and removes the folders of killed labs. */
export async function stopOrphanedProcesses(): Promise<void> {
  for (const folder of await abandonedFolders(KIND)) {
    await endGroups(folder);
    await removeOwn(folder);
  }
}

/** Removes the folder of a lab that ends, after it has stopped the recorded programs that still work there. @throws the file system's error */
export async function endLabFolder(folder: string): Promise<void> {
  await endGroups(folder);
  await rm(folder, { recursive: true, force: true });
}

async function endGroups(folder: string): Promise<void> {
  const running = await readFile(runningFile(folder), "utf8").catch(() => "");
  for (const pid of new Set(running.split("\n").map(Number))) {
    // The number may have been reused: only stops processes that work in the lab's folder.
    const cwd = pid > 1 ? await readlink(`/proc/${pid}/cwd`).catch(() => "") : "";
    if (cwd !== folder && !cwd.startsWith(`${folder}/`)) continue;
    killGroup(pid);
  }
}
