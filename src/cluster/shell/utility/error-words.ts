import type { FsError } from "../fs/fs-error.js";
import { resolvePath } from "../fs/paths.js";

/**
 * What a command of just-bash prints about a failed file operation, in the words of busybox. just-bash prints errors of
 * its own file system, or takes each of them for a missing file.
 * @param refused the errors of the command's operations, in order
 */
export function busyboxErrors(
  stderr: string,
  command: { readonly text: string; readonly args: readonly string[]; readonly cwd: string },
  refused: readonly FsError[],
): string {
  if (refused.length === 0) return stderr;
  const { text: program, args, cwd } = command;
  const left = [...refused];
  /** as the user wrote it */
  const nameOf = (path: string) => args.find((arg) => resolvePath(cwd, arg) === path) ?? path;
  const lineOf = (line: string): string => {
    const code = /\b(E[A-Z]+): [a-z -]+, \w+ '/.exec(line)?.[1];
    if (code !== undefined) {
      const at = left.findIndex((error) => error.code === code);
      const [error] = at < 0 ? [] : left.splice(at, 1);
      return error === undefined ? line : `${program}: ${subjectOf(program, line, nameOf(error.path))}: ${error.text}`;
    }
    const [, missing = ""] = /^\w+: (.+): No such file or directory$/.exec(line) ?? [];
    const hidden = left.find((error) => error.code !== "ENOENT" && error.path === resolvePath(cwd, missing));
    return missing === "" || hidden === undefined ? line : `${program}: ${missing}: ${hidden.text}`;
  };
  return stderr.split("\n").map(lineOf).join("\n");
}

/** `can't create '/etc/x'` */
function subjectOf(program: string, line: string, name: string): string {
  const [, source] = /cannot \w+ '([^']*)'/.exec(line) ?? [];
  if (program === "mv") return `can't rename '${source ?? name}'`;
  return name;
}
