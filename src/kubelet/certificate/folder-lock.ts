import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../../util/errors.js";
import { makeFolder } from "../../util/os/files.js";
import { lockHolder, tryLock } from "../../util/os/pid-lock.js";

const LOCK = "kubelet.lock";

/**
 * Locks the node's folder for this process until the lock is disposed of, so that two kubelets never overwrite each
 * other's certificate and kubeconfig. The lock of a killed process does not count.
 *
 * Mirrors cmd/kubelet/app/server.go (--lock-file, flock.Acquire).
 * Differs: the file names its holder, because Node has no flock; a second process is refused at once and does not wait.
 *
 * @throws LabError BAD_FILE when another process holds the lock, or it cannot be written
 */
export async function lockFolder(folder: string): Promise<AsyncDisposable> {
  const path = join(folder, LOCK);
  await makeFolder(folder, 0o700);
  const answer = await tryLock(path, "Name another folder with --root-dir.");
  if (answer.outcome === "held") throw held(folder, answer.pid);
  const unlock = async () => {
    await answer.lock[Symbol.asyncDispose]();
    // A run that ends before it has joined leaves an empty folder, which rmdir removes; rmdir refuses a folder with
    // files.
    await rmdir(folder).catch(() => undefined);
  };
  return { [Symbol.asyncDispose]: unlock };
}

/** @throws LabError BAD_FILE when a running process has locked the folder */
export async function checkUnlocked(folder: string): Promise<void> {
  const pid = await lockHolder(join(folder, LOCK));
  if (pid !== undefined) throw held(folder, pid);
}

function held(folder: string, pid: number): LabError {
  return new LabError(
    "BAD_FILE",
    `another \`kubelab node\` (pid ${pid}) already uses ${folder}`,
    "Stop it, or give this node another name: each name has its own folder.",
  );
}
