import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../../util/errors.js";
import { makeFolder } from "../../util/files.js";
import { lockHolder, tryLock } from "../../util/pid-lock.js";

const LOCK = "kubelet.lock";

/**
 * Makes this process the only one that works in the node's folder, until it is disposed of: two kubelets that write each
 * other's certificate and kubeconfig are none. A lock whose process was killed does not count.
 *
 * Mirrors cmd/kubelet/app/server.go (--lock-file, flock.Acquire).
 * Differs: the file says who holds it, as Node knows no flock; so a second one is refused at once and does not wait.
 *
 * @throws LabError BAD_FILE when another process holds it, or it cannot be written
 */
export async function lockFolder(folder: string): Promise<AsyncDisposable> {
  const path = join(folder, LOCK);
  await makeFolder(folder, 0o700);
  const answer = await tryLock(path, "Name another folder with --root-dir.");
  if (answer.outcome === "held") throw held(folder, answer.pid);
  const unlock = async () => {
    await answer.lock[Symbol.asyncDispose]();
    // A run that ends before it has joined leaves nothing; what has files stays, and that is what rmdir refuses.
    await rmdir(folder).catch(() => undefined);
  };
  return { [Symbol.asyncDispose]: unlock };
}

/** @throws LabError BAD_FILE when a process that runs has locked the folder */
export async function checkUnlocked(folder: string): Promise<void> {
  const pid = await lockHolder(join(folder, LOCK));
  if (pid !== undefined) throw held(folder, pid);
}

function held(folder: string, pid: number): LabError {
  return new LabError(
    "BAD_FILE",
    `a \`kubelab node\` works in ${folder} already (pid ${pid})`,
    "End it, or give this node another name: each name has a folder of its own.",
  );
}
