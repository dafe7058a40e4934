import { FsError } from "../fs/fs-error.js";
import { resolvePath } from "../fs/paths.js";
import { EXECUTE } from "../fs/permission.js";
import { execInPlace } from "../process/exec.js";
import { ForkError, SpawnError } from "../process/process.js";
import type { Shell } from "./shell.js";
import { forkFailure } from "./state.js";

/** Runs a program: in a new process, or in the shell's place if nothing follows. */
export async function runExternal(argv: readonly string[], shell: Shell, inPlace: boolean): Promise<number> {
  const { self, state } = shell;
  const world = {
    env: state.environment(),
    cwd: state.cwd,
    umask: state.umask,
    stdin: shell.source(0),
    stdout: shell.sink(1),
    stderr: shell.sink(2),
  };
  try {
    if (inPlace && state.traps.size === 0) return await execInPlace(self, argv, world);
    const group = shell.jobControl === undefined ? {} : ({ group: "new" } as const);
    const child = self.machine.spawn({ ...world, argv, parentPid: self.pid, ...group });
    const [code = 0] = await shell.waitFor([child]);
    state.childNs += child.cpuNs;
    return code;
  } catch (error) {
    if (error instanceof ForkError) throw forkFailure(error);
    if (!(error instanceof SpawnError)) throw error;
    // A shell reports an unknown name without a slash as "not found", independent of execve's error.
    await shell.complain(`${error.command}: ${error.exitCode === 127 ? "not found" : capital(error.reason)}`);
    return error.exitCode;
  }
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** The target folder of `cd`. @throws FsError */
export function enterFolder(name: string, shell: Shell): string {
  const path = resolvePath(shell.state.cwd, name);
  const stat = shell.files.stat(path);
  if (stat.type !== "directory") throw new FsError("ENOTDIR", path);
  if (!shell.files.allows(stat, EXECUTE)) throw new FsError("EACCES", path);
  return path;
}
