import type { ContainerFs } from "../fs/container-fs.js";
import { FsError } from "../fs/fs-error.js";
import { resolvePath } from "../fs/paths.js";
import { EXECUTE } from "../fs/permission.js";
import { SpawnError } from "./process.js";

/** runc's default PATH. */
export const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The target of an executable file: a program of ours, or an interpreter with the file as its argument. */
export type Executable =
  | { readonly kind: "program"; readonly program: string; readonly path: string }
  | { readonly kind: "script"; readonly interpreter: readonly string[]; readonly path: string };

/**
 * Finds the file of `command`, as execvp does.
 * @throws SpawnError 127 if it does not exist, 126 if it is not executable
 */
export function lookUp(fs: ContainerFs, command: string, cwd: string, searchPath: string | undefined): Executable {
  if (command === "") throw new SpawnError(127, command, "no such file or directory");
  if (command.includes("/")) return executable(fs, resolvePath(cwd, command), command);
  let refused: SpawnError | undefined;
  for (const folder of (searchPath ?? DEFAULT_PATH).split(":")) {
    const path = resolvePath(cwd, `${folder === "" ? "." : folder}/${command}`);
    if (!fs.exists(path) || fs.stat(path).type === "directory") continue;
    try {
      return executable(fs, path, command);
    } catch (error) {
      if (!(error instanceof SpawnError)) throw error;
      refused ??= error;
    }
  }
  throw refused ?? new SpawnError(127, command, "executable file not found in $PATH");
}

const HEAD_BYTES = 256;

function executable(fs: ContainerFs, path: string, command: string): Executable {
  try {
    const stat = fs.stat(path);
    if (stat.type !== "file" || !fs.allows(stat, EXECUTE)) {
      throw new SpawnError(126, command, "permission denied");
    }
    const program = fs.node(path)?.program;
    if (program !== undefined) return { kind: "program", program, path };
    const head = fs.read(path, 0, HEAD_BYTES, true).toString("latin1");
    const line = /^#!\s*(\S+)(?:[ \t]+(\S.*?))?\s*(?:\n|$)/.exec(head);
    if (line === null) throw new SpawnError(126, command, "exec format error", path);
    return { kind: "script", interpreter: [line[1] ?? "", ...(line[2] === undefined ? [] : [line[2]])], path };
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    if (error.code === "ENOENT") throw new SpawnError(127, command, "no such file or directory");
    throw new SpawnError(126, command, error.text.toLowerCase());
  }
}
