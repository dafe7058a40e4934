import { rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../../util/errors.js";
import { describeFileError, makeFolder, readIfThere } from "../../util/files.js";
import { isAlive, markOf } from "../../util/processes.js";

const LOCK = "kubelet.lock";
/** A lock that somebody left is removed, and the next try may meet somebody who was faster. */
const MAX_TRIES = 3;

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
  const ours = `${process.pid} ${await markOf(process.pid)}`.trim();
  await makeFolder(folder, 0o700);
  for (let attempt = 1; ; attempt++) {
    await checkUnlocked(folder);
    try {
      await writeFile(path, `${ours}\n`, { flag: "wx", mode: 0o600 });
      break;
    } catch (cause) {
      if (attempt === MAX_TRIES || (cause as { code?: unknown }).code !== "EEXIST") {
        const message = `${path} cannot be written: ${describeFileError(cause)}`;
        throw new LabError("BAD_FILE", message, "Name another folder with --root-dir.", { cause });
      }
      await rm(path, { force: true });
    }
  }
  const unlock = async () => {
    await rm(path, { force: true });
    // A run that ends before it has joined leaves nothing; what has files stays, and that is what rmdir refuses.
    await rmdir(folder).catch(() => undefined);
  };
  return { [Symbol.asyncDispose]: unlock };
}

/** @throws LabError BAD_FILE when a process that runs has locked the folder */
export async function checkUnlocked(folder: string): Promise<void> {
  const [, digits, start = ""] = /^(\d+) ?(\d*)\n$/.exec((await readIfThere(join(folder, LOCK))) ?? "") ?? [];
  const pid = Number(digits);
  // With our own number it was somebody before us: in a container the next process has the number of the last one.
  if (digits === undefined || pid === process.pid || !(await isAlive(pid)) || (await markOf(pid)) !== start) return;
  throw new LabError(
    "BAD_FILE",
    `a \`kubelab node\` works in ${folder} already (pid ${pid})`,
    "End it, or give this node another name: each name has a folder of its own.",
  );
}
