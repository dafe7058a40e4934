import type { ContainerFs } from "../../fs/container-fs.js";
import { FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import { BUILTINS } from "../builtins.js";
import type { ShellState } from "../state.js";

/** The result of Tab. */
export interface Completion {
  /** the common prefix of all choices; a single choice ends with a blank or a slash */
  readonly insert: string;
  /** names, sorted */
  readonly choices: readonly string[];
}

/** Completes the last word of a line: a command where one is expected, else a file. */
export function complete(before: string, state: ShellState, fs: ContainerFs): Completion {
  const word = /[^\s;|&()<>"'=]*$/.exec(before)?.[0] ?? "";
  const isCommand = /(^|[;|&(])\s*$/.test(before.slice(0, before.length - word.length));
  const slash = word.lastIndexOf("/");
  const start = word.slice(slash + 1);
  const names =
    isCommand && slash < 0 ? commands(state, fs) : files(resolvePath(state.cwd, word.slice(0, slash + 1)), fs);
  const choices = [...new Set(names)].filter(
    (name) => name.startsWith(start) && (start !== "" || !name.startsWith(".")),
  );
  choices.sort();
  const [first = ""] = choices;
  let common = first;
  for (const name of choices) while (!name.startsWith(common)) common = common.slice(0, -1);
  const insert = common.slice(start.length);
  const isWhole = choices.length === 1 && !common.endsWith("/");
  return { insert: choices.length === 0 ? "" : insert + (isWhole ? " " : ""), choices };
}

function commands(state: ShellState, fs: ContainerFs): string[] {
  const folders = (state.get("PATH") ?? "").split(":");
  return [...Object.keys(BUILTINS), ...state.functions.keys(), ...folders.flatMap((folder) => namesIn(folder, fs))];
}

function files(folder: string, fs: ContainerFs): string[] {
  return namesIn(folder, fs).map((name) => (isFolder(resolvePath(folder, name), fs) ? `${name}/` : name));
}

function isFolder(path: string, fs: ContainerFs): boolean {
  return fs.exists(path) && fs.stat(path).type === "directory";
}

function namesIn(folder: string, fs: ContainerFs): string[] {
  try {
    return fs.readdir(folder);
  } catch (error) {
    if (error instanceof FsError) return [];
    throw error;
  }
}
