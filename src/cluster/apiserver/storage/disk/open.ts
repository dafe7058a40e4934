import { existsSync } from "node:fs";
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../../../../util/errors.js";
import { describeFileError, makeFolder, readIfThere, writeFileAtomic } from "../../../../util/os/files.js";
import { tryLock } from "../../../../util/os/pid-lock.js";
import { type ClusterIdentity, parseIdentity } from "../cluster-identity.js";
import type { DiskConfig } from "./config.js";
import { unusable } from "./damage.js";
import { IDENTITY_FILE, LOCK_FILE, listDataFiles } from "./data-files.js";
import { DiskStorage, type DiskStorageDeps, type DiskStorageOptions } from "./store.js";

const OTHER_FOLDER = "Name another folder with --data.";

export interface OpenDiskDeps extends DiskStorageDeps {
  readonly makeIdentity: () => Promise<ClusterIdentity>;
}

export interface OpenedDisk {
  readonly storage: DiskStorage;
  readonly identity: ClusterIdentity;
}

/**
 * Opens a folder for this process alone, and finds the cluster that it holds or begins a new one. Who can read its files has the
 * cluster's CA and its secrets, so only their owner can.
 * @throws LabError USAGE for a folder that is in use or has other files; BAD_FILE for one that cannot be written, or is damaged
 */
export async function openDisk(
  deps: OpenDiskDeps,
  config: DiskConfig,
  options: DiskStorageOptions = {},
): Promise<OpenedDisk> {
  const { folder } = config;
  try {
    await makeFolder(folder, 0o700);
    const { foreign } = await listDataFiles(folder);
    if (foreign.length > 0) {
      const message = `${folder} is not a cluster's folder: it has ${JSON.stringify(foreign[0])}`;
      throw new LabError("USAGE", message, "Name an empty folder, or one that does not exist yet, with --data.");
    }
    await chmod(folder, 0o700);
    return await openLocked(deps, config, options);
  } catch (cause) {
    const { syscall, code } = cause as NodeJS.ErrnoException;
    if (syscall === undefined) throw cause;
    const message =
      code === "ENOTDIR" && existsSync(folder)
        ? `${folder} is a file, not a folder`
        : `cannot keep the cluster in ${folder}: ${describeFileError(cause)}`;
    throw new LabError("BAD_FILE", message, OTHER_FOLDER, { cause });
  }
}

async function openLocked(deps: OpenDiskDeps, config: DiskConfig, options: DiskStorageOptions): Promise<OpenedDisk> {
  const { folder } = config;
  const answer = await tryLock(join(folder, LOCK_FILE), OTHER_FOLDER);
  if (answer.outcome === "held") {
    const hint = "End that process, or name another folder with --data.";
    throw new LabError("USAGE", `${folder} is in use by another process (pid ${answer.pid})`, hint);
  }
  const { lock } = answer;
  try {
    const { unfinished } = await listDataFiles(folder);
    for (const name of unfinished) await rm(join(folder, name), { force: true });
    const identity = await keptIdentity(folder, deps.makeIdentity);
    const storage = await DiskStorage.open({ ...deps, lock }, config, options);
    return { storage, identity };
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }
}

/** The folder's identity; a new one if it has nothing yet. Differs: as `sharedIdentity` on etcd. */
async function keptIdentity(folder: string, make: () => Promise<ClusterIdentity>): Promise<ClusterIdentity> {
  const path = join(folder, IDENTITY_FILE);
  const text = await readIfThere(path);
  if (text === undefined) {
    const { logs, snapshots } = await listDataFiles(folder);
    if (logs.length + snapshots.length > 0) throw unusable(path, "is missing, and with it the cluster's CA and keys");
    const made = await make();
    await writeFileAtomic(path, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
    return made;
  }
  const identity = parseIdentity(text);
  if (identity === undefined) throw unusable(path, "does not have the cluster's CA and keys");
  return identity;
}
