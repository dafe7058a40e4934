import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { homedir, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { LabError } from "../../util/errors.js";
import { makeFolder } from "../../util/os/files.js";

/**
 * The folder for everything that outlives a command: `$XDG_STATE_HOME/kubelab`, by default below `~/.local/state`.
 * Without $HOME, as in a service, the home folder comes from the user database, not from the current folder.
 */
export function stateFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(env["XDG_STATE_HOME"] || join(env["HOME"] || ownHome(), ".local", "state"), "kubelab");
}

/**
 * The folder through which the embedded runtimes of one cluster's nodes find each other. @param server of its API
 * server: `https://127.0.0.1:6443`
 */
export function networkFolder(env: Readonly<Record<string, string | undefined>>, server: string): string {
  const cluster = createHash("sha256").update(new URL(server).host).digest("hex").slice(0, 12);
  return join(stateFolder(env), "networks", cluster);
}

/**
 * The same for a cluster with several servers. Their state folders can differ, but all on this machine find this folder.
 * @param caPem the cluster's
 * @throws LabError BAD_FILE if other users can write there
 */
export async function sharedNetworkFolder(caPem: string): Promise<string> {
  const uid = process.getuid?.();
  const base = join(tmpdir(), `kubelab-${uid ?? userInfo().username}`);
  await makeFolder(base, 0o700);
  const { uid: owner, mode } = await stat(base);
  if (uid !== undefined && (owner !== uid || (mode & 0o077) !== 0)) {
    const hint = `Remove it, or name another folder with TMPDIR.`;
    throw new LabError("BAD_FILE", `other users can write to ${base}, where the nodes' network is`, hint);
  }
  return join(base, "networks", createHash("sha256").update(caPem).digest("hex").slice(0, 12));
}

function ownHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    // The user has no entry in the system's database, as in a container.
    return homedir() || "/";
  }
}
