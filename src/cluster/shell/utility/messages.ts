import type { IFileSystem } from "just-bash";

/** `[[ subject =~ pattern ]]`: exit code 0 for a match, 1 for none. */
export interface MatchCommand {
  readonly subject: string;
  readonly pattern: string;
}

/** The work of just-bash: one of its commands, or a script that our interpreter does not support. */
export interface BashCommand {
  /** a command's name, or a script */
  readonly text: string;
  /** arguments of a command; undefined for a script */
  readonly args: readonly string[] | undefined;
  readonly stdin: Buffer;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** the container's time, Unix ms: awk's systime */
  readonly nowMs?: number;
}

export type UtilityCommand = BashCommand | MatchCommand;

export interface UtilityResult {
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly exitCode: number;
}

/** The operations on files that just-bash waits for, and `sleep`. */
export const REMOTE_METHODS = [
  "readFile",
  "readFileBuffer",
  "writeFile",
  "appendFile",
  "exists",
  "stat",
  "lstat",
  "mkdir",
  "readdir",
  "rm",
  "cp",
  "mv",
  "chmod",
  "symlink",
  "link",
  "readlink",
  "realpath",
  "utimes",
] as const satisfies readonly (keyof IFileSystem)[];

export type RemoteMethod = (typeof REMOTE_METHODS)[number] | "sleep";

/** To a utility process, which runs one command at a time. */
export type ToUtility =
  | { readonly type: "run"; readonly command: UtilityCommand }
  | { readonly type: "answer"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly message: string; readonly code: string | undefined };

/** From a utility process. */
export type FromUtility =
  | { readonly type: "call"; readonly id: number; readonly method: RemoteMethod; readonly given: readonly unknown[] }
  | { readonly type: "ended"; readonly result: UtilityResult }
  /** a text of the command would have become too long */
  | { readonly type: "out-of-memory" };
