import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LabError } from "../errors.js";
import { describeFileError } from "./files.js";
import { isAlive } from "./processes.js";

/**
 * Creates `kubelab-<kind>-<pid>-XXXXXX` in the folder for temporary files, and removes such folders of processes that were
 * killed.
 * @throws LabError BAD_FILE
 */
export async function makeTemporaryFolder(kind: string): Promise<string> {
  for (const folder of await abandonedFolders(kind)) await removeOwn(folder);
  return makeUniqueFolder(temporaryPrefix(kind));
}

/** Creates a folder with a unique name. @param prefix its path without the random end @throws LabError BAD_FILE */
export async function makeUniqueFolder(prefix: string): Promise<string> {
  try {
    return await mkdtemp(prefix);
  } catch (cause) {
    const message = `cannot make a folder in ${tmpdir()}: ${describeFileError(cause)}`;
    throw new LabError("BAD_FILE", message, "Name another folder for temporary files with TMPDIR.", { cause });
  }
}

/** The prefix of this process for mkdtemp. */
export function temporaryPrefix(kind: string): string {
  return join(tmpdir(), `kubelab-${kind}-${process.pid}-`);
}

/** The folders of this kind whose processes were killed. Files of the same name and folders of other users do not count. */
export async function abandonedFolders(kind: string): Promise<readonly string[]> {
  const pattern = new RegExp(`^kubelab-${kind}-(\\d+)-\\w{6}$`);
  const names = await readdir(tmpdir()).catch(() => []);
  const abandoned: string[] = [];
  for (const name of names) {
    const pid = Number(pattern.exec(name)?.[1] ?? Number.NaN);
    if (!Number.isInteger(pid) || (await isAlive(pid))) continue;
    const folder = join(tmpdir(), name);
    const found = await lstat(folder).catch(() => undefined); // another process was faster
    if (found?.isDirectory() === true && found.uid === process.getuid?.()) abandoned.push(folder);
  }
  return abandoned;
}

/** Removes a folder as far as its files are this user's. */
export async function removeOwn(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => {
    // It contains files of another user, who can remove them.
  });
}
