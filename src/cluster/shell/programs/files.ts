import { withoutEnding } from "../../../util/text/linear-text.js";
import { errorText, FsError } from "../fs/fs-error.js";
import { baseName, resolvePath } from "../fs/paths.js";
import type { Self } from "../process/process.js";
import { terminalOf } from "../process/terminal.js";
import { complain, parseArgs, print, usage } from "./console.js";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `ls [-l] [-a] [-A] [-1] [-d] [-R] [FILE...]` */
export async function ls(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "laA1dRhtrFinsS");
  if (unknown !== undefined) return usage(self, `unrecognized option '${unknown}'`);
  const { fs } = self.machine;
  const names = rest.length === 0 ? ["."] : rest;
  const files: string[] = [];
  const folders: string[] = [];
  let code = 0;
  for (const name of names) {
    try {
      const stat = options.has("l") ? fs.lstat(resolvePath(self.cwd, name)) : fs.stat(resolvePath(self.cwd, name));
      (stat.type === "directory" && !options.has("d") ? folders : files).push(name);
    } catch (error) {
      await complain(self, `${name}: ${errorText(error)}`);
      code = 1;
    }
  }
  for (const name of files) await print(self, listLine(self, self.cwd, name, options));
  let isFirst = files.length === 0;
  for (const name of folders) {
    if (names.length > 1 || options.has("R")) await print(self, `${isFirst ? "" : "\n"}${name}:\n`);
    isFirst = false;
    await listFolder(self, name, options, folders);
  }
  return code;
}

async function listFolder(
  self: Self,
  name: string,
  options: ReadonlyMap<string, string>,
  folders: string[],
): Promise<void> {
  const { fs } = self.machine;
  const path = resolvePath(self.cwd, name);
  const hidden = options.has("a") || options.has("A");
  const entries = fs.readdir(path).filter((entry) => hidden || !entry.startsWith("."));
  if (options.has("a")) entries.unshift(".", "..");
  if (options.has("r")) entries.reverse();
  if (options.has("l")) await print(self, `total ${entries.length * 4}\n`);
  if (self.stdout.isTerminal === true && !options.has("l") && !options.has("1"))
    await print(self, inColumns(entries, self));
  else for (const entry of entries) await print(self, listLine(self, path, entry, options));
  if (!options.has("R")) return;
  const below = entries.filter((entry) => entry !== "." && entry !== "..");
  folders.push(
    ...below
      .filter((entry) => fs.lstat(resolvePath(path, entry)).type === "directory")
      .map((entry) => `${name}/${entry}`),
  );
}

/** Names in columns, top to bottom first, as many as fit the terminal. */
function inColumns(names: readonly string[], { stdout }: Self): string {
  if (names.length === 0) return "";
  const width = Math.max(...names.map((name) => name.length)) + 2;
  const columns = Math.max(1, Math.floor((terminalOf(stdout)?.size.width || 80) / width));
  const rows = Math.ceil(names.length / columns);
  let out = "";
  for (let row = 0; row < rows; row++) {
    const line = names.filter((_name, index) => index % rows === row);
    out += `${line
      .map((name) => name.padEnd(width))
      .join("")
      .trimEnd()}\n`;
  }
  return out;
}

function listLine(self: Self, folder: string, name: string, options: ReadonlyMap<string, string>): string {
  if (!options.has("l")) return `${name}\n`;
  const { fs, clock } = self.machine;
  const path = resolvePath(folder, name);
  const stat = fs.lstat(path);
  const kind = { file: "-", directory: "d", symlink: "l", device: "c" }[stat.type];
  const when = new Date(stat.mtimeMs);
  const day = `${MONTHS[when.getUTCMonth()]} ${String(when.getUTCDate()).padStart(2)}`;
  const isRecent = Math.abs(clock.now() - stat.mtimeMs) < 180 * 86_400_000;
  const time = isRecent ? when.toISOString().slice(11, 16) : ` ${when.getUTCFullYear()}`;
  const target = stat.type === "symlink" ? ` -> ${fs.readlink(path)}` : "";
  return `${kind}${modeText(stat.mode)}    1 root     root     ${String(stat.size).padStart(9)} ${day} ${time} ${name}${target}\n`;
}

function modeText(mode: number): string {
  return [6, 3, 0]
    .map((shift) => {
      const bits = (mode >> shift) & 7;
      return `${bits & 4 ? "r" : "-"}${bits & 2 ? "w" : "-"}${bits & 1 ? "x" : "-"}`;
    })
    .join("");
}

/** `mkdir [-p] FOLDER...` */
export async function mkdir(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "pm:");
  if (unknown !== undefined) return usage(self, `unrecognized option '${unknown}'`);
  return eachPath(self, rest, "can't create directory", (path) =>
    self.machine.fs.mkdir(path, { recursive: options.has("p") }),
  );
}

/** `rmdir FOLDER...` */
export async function rmdir(self: Self): Promise<number> {
  return eachPath(self, self.argv.slice(1), "", (path) => {
    if (self.machine.fs.lstat(path).type !== "directory") throw new FsError("ENOTDIR", path);
    self.machine.fs.remove(path);
  });
}

/** `rm [-r] [-f] FILE...` */
export async function rm(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "rRfi");
  if (unknown !== undefined) return usage(self, `unrecognized option '${unknown}'`);
  const isRecursive = options.has("r") || options.has("R");
  return eachPath(self, rest, "can't remove", (path) => removePath(self, path, isRecursive, options.has("f")));
}

function removePath(self: Self, path: string, isRecursive: boolean, isForced: boolean): void {
  const { fs } = self.machine;
  try {
    if (fs.lstat(path).type === "directory") {
      if (!isRecursive) throw new FsError("EISDIR", path);
      for (const name of fs.readdir(path)) removePath(self, resolvePath(path, name), true, isForced);
    }
    fs.remove(path);
  } catch (error) {
    if (!(isForced && error instanceof FsError && error.code === "ENOENT")) throw error;
  }
}

/** `touch [-c] FILE...` */
export async function touch(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "c");
  if (unknown !== undefined) return usage(self, `unrecognized option '${unknown}'`);
  const { fs, clock } = self.machine;
  return eachPath(self, rest, "", (path) => {
    if (fs.exists(path)) fs.utimes(path, clock.now());
    else if (!options.has("c")) fs.write(path, Buffer.alloc(0));
  });
}

async function eachPath(
  self: Self,
  names: readonly string[],
  what: string,
  use: (path: string) => void,
): Promise<number> {
  if (names.length === 0) return usage(self, "missing operand");
  let code = 0;
  for (const name of names) {
    try {
      use(resolvePath(self.cwd, name));
    } catch (error) {
      await complain(self, what === "" ? `${name}: ${errorText(error)}` : `${what} '${name}': ${errorText(error)}`);
      code = 1;
    }
  }
  return code;
}

/** `basename PATH [SUFFIX]` */
export async function basename(self: Self): Promise<number> {
  const [path, suffix = ""] = self.argv.slice(1);
  if (path === undefined) return usage(self, "missing operand");
  const name = baseName(path);
  await print(
    self,
    `${name !== suffix && name.endsWith(suffix) ? name.slice(0, name.length - suffix.length) : name}\n`,
  );
  return 0;
}

/** `dirname PATH` */
export async function dirname(self: Self): Promise<number> {
  const path = self.argv[1];
  if (path === undefined) return usage(self, "missing operand");
  const trimmed = withoutEnding(path, "/");
  const slash = trimmed.lastIndexOf("/");
  await print(self, `${slash < 0 ? (trimmed === "" ? "/" : ".") : trimmed.slice(0, slash) || "/"}\n`);
  return 0;
}
