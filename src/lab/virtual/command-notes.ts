import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { killGroup, markOf, markOfNow } from "../../util/os/processes.js";

/** In the node's folder: an empty file `<pid>-<start time>` for each running command. */
const NOTES = "commands";

/**
 * Records the running commands of a node's pods. Commands outlive a kubelet that is killed, as containers do. Unlike containers they cannot
 * be adopted, because the reader of their output is gone: the next kubelet kills them and starts again.
 *
 * Works only where the system distinguishes a process from a later one with the same PID (Linux).
 */
export class CommandNotes {
  readonly #folder: string;

  /** @param nodeFolder must exist */
  constructor(nodeFolder: string) {
    this.#folder = join(nodeFolder, NOTES);
  }

  /**
   * Notes a process group by its leader. Synchronous, because the kubelet may be killed right after.
   * @returns a function that removes the note
   */
  begun(pid: number): () => void {
    const mark = markOfNow(pid);
    if (mark === "") return () => undefined;
    const path = join(this.#folder, `${pid}-${mark}`);
    try {
      mkdirSync(this.#folder, { mode: 0o700 });
    } catch {
      // The folder usually exists. If it cannot be created, the next line fails too.
    }
    try {
      writeFileSync(path, "");
    } catch {
      // The disk is full: the command runs on, but is forgotten if the kubelet is killed.
    }
    return () => rmSync(path, { force: true });
  }
}

/**
 * Kills the commands that a killed kubelet left behind, but no later process that got one of their PIDs.
 * @returns PIDs of those that were running
 */
export async function endLeftCommands(nodeFolder: string): Promise<readonly number[]> {
  const folder = join(nodeFolder, NOTES);
  const ended: number[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const [, digits, mark] = /^(\d+)-(\d+)$/.exec(name) ?? [];
    const pid = Number(digits);
    if (!(pid > 1) || (await markOf(pid)) !== mark) continue;
    killGroup(pid);
    ended.push(pid);
  }
  await rm(folder, { recursive: true, force: true });
  return ended;
}
