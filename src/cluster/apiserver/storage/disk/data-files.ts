import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { targetOfTemporary } from "../../../../util/os/files.js";

export const IDENTITY_FILE = "identity.json";
export const LOCK_FILE = "lock";
/** Files that are replaced atomically. */
const REPLACED = /^(?:\d+\.snapshot|identity\.json)$/;

/** The files of a cluster's folder. */
export interface DataFiles {
  /** revisions of snapshots, in order */
  readonly snapshots: readonly number[];
  /** revisions that logs follow, in order */
  readonly logs: readonly number[];
  /** names of what a killed process has left half-written */
  readonly unfinished: readonly string[];
  /** names of files that are not of a cluster */
  readonly foreign: readonly string[];
}

/** The state at a revision. */
export function snapshotFile(folder: string, revision: number): string {
  return join(folder, `${revision}.snapshot`);
}

/** The changes after a revision. */
export function logFile(folder: string, revision: number): string {
  return join(folder, `${revision}.log`);
}

/** @throws the file system's error */
export async function listDataFiles(folder: string): Promise<DataFiles> {
  const snapshots: number[] = [];
  const logs: number[] = [];
  const unfinished: string[] = [];
  const foreign: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const { name } = entry;
    // Opening a pipe would wait for its other end.
    if (!entry.isFile()) {
      foreign.push(name);
      continue;
    }
    const [, revision, kind] = /^([1-9]\d{0,14})\.(log|snapshot)$/.exec(name) ?? [];
    if (kind !== undefined) (kind === "log" ? logs : snapshots).push(Number(revision));
    else if (REPLACED.test(targetOfTemporary(name) ?? "")) unfinished.push(name);
    else if (name !== IDENTITY_FILE && name !== LOCK_FILE) foreign.push(name);
  }
  const inOrder = (a: number, b: number) => a - b;
  return { snapshots: snapshots.sort(inOrder), logs: logs.sort(inOrder), unfinished, foreign };
}
