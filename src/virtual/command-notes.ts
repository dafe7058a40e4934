import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { killGroup, markOf, markOfNow } from "../util/processes.js";

/** In the node's folder: an empty file `<pid>-<when it began>` for each command that works. */
const NOTES = "commands";

/**
 * Which commands work for a node's pods. They outlive a kubelet that is killed, as containers do; unlike these they cannot
 * be adopted, as who reads their output is gone: the next kubelet ends them before it begins the work anew.
 *
 * Only where the system tells one process from the next of its number (Linux).
 */
export class CommandNotes {
  readonly #folder: string;

  /** @param nodeFolder is there */
  constructor(nodeFolder: string) {
    this.#folder = join(nodeFolder, NOTES);
  }

  /**
   * Notes a group of processes by its first one. At once: the kubelet may be killed the moment after.
   * @returns what takes the note away
   */
  begun(pid: number): () => void {
    const mark = markOfNow(pid);
    if (mark === "") return () => undefined;
    const path = join(this.#folder, `${pid}-${mark}`);
    try {
      mkdirSync(this.#folder, { mode: 0o700 });
    } catch {
      // Mostly it is there. If it cannot be made, the next line fails too.
    }
    try {
      writeFileSync(path, "");
    } catch {
      // A disk that is full: the work goes on, and is forgotten if the kubelet is killed.
    }
    return () => rmSync(path, { force: true });
  }
}

/**
 * Ends the commands that a kubelet has left which was killed. Whoever has the number of one of them by now is let be.
 * @returns process IDs of those that were running
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
