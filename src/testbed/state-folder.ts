import { createHash } from "node:crypto";
import { homedir, userInfo } from "node:os";
import { join } from "node:path";

/**
 * Where everything is kept that outlives a command: `$XDG_STATE_HOME/kubelab`, by default below `~/.local/state`. Without
 * $HOME, as in a service, the home folder is the user's own and not whatever folder a command happens to run in.
 */
export function stateFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(env["XDG_STATE_HOME"] || join(env["HOME"] || ownHome(), ".local", "state"), "kubelab");
}

/** Where the embedded runtimes of one cluster's nodes find one another. @param server of its API server: `https://127.0.0.1:6443` */
export function networkFolder(env: Readonly<Record<string, string | undefined>>, server: string): string {
  const cluster = createHash("sha256").update(new URL(server).host).digest("hex").slice(0, 12);
  return join(stateFolder(env), "networks", cluster);
}

function ownHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    // A user of whom the system has no entry, as in a container.
    return homedir() || "/";
  }
}
