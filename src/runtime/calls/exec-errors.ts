import type { SpawnError } from "../../shell/process/machine.js";

/** What containerd and runc say of a command that does not start. @param execId names the run, as containerd's IDs do */
export function execErrorText({ command, reason, exitCode }: SpawnError, execId: string): string {
  // With a path runc looks at the file itself.
  const why = exitCode === 127 && command.includes("/") ? `stat ${command}: ${reason}` : reason;
  return `failed to exec in container: failed to start exec "${execId}": OCI runtime exec failed: exec failed: unable to start container process: exec: "${command}": ${why}: unknown`;
}
