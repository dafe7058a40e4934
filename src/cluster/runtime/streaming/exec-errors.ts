import type { SpawnError } from "../../shell/process/process.js";

/** The messages of containerd and runc for a command that cannot start. @param execId identifies the run, as in containerd */
export function execErrorText({ command, reason, exitCode }: SpawnError, execId: string): string {
  // runc itself checks a path; a bare name is searched in PATH.
  const why = exitCode === 127 && command.includes("/") ? `stat ${command}: ${reason}` : reason;
  return `failed to exec in container: failed to start exec "${execId}": OCI runtime exec failed: exec failed: unable to start container process: exec: "${command}": ${why}: unknown`;
}
