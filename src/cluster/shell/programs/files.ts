import { errorText, FsError } from "../fs/fs-error.js";
import { changedMode } from "../fs/mode.js";
import { NEW_FILE_MODE } from "../fs/open-file.js";
import { resolvePath } from "../fs/paths.js";
import type { FileStat } from "../fs/stat.js";
import { AccountNames } from "../process/accounts.js";
import type { Self } from "../process/process.js";
import { terminalOf } from "../process/terminal.js";
import { complain, parseArgs, print, usage } from "./console.js";
import { parseDate } from "./date.js";
import { typeAndMode } from "./owners.js";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `ls [-laA1dLnRFprtS] [FILE...]` */
export async function ls(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "laA1dRhtrFinsSLp");
  if (unknown !== undefined) return usage(self, unknown);
  const { fs } = self.machine;
  const names = rest.length === 0 ? ["."] : rest;
  const listing: Listing = { options, names: new AccountNames(fs) };
  const files: string[] = [];
  const folders: string[] = [];
  let code = 0;
  for (const name of names) {
    try {
      const stat =
        options.has("l") && !options.has("L")
          ? fs.lstat(resolvePath(self.cwd, name))
          : fs.stat(resolvePath(self.cwd, name));
      const isFolder = stat.type === "directory" && !options.has("d");
      (isFolder ? folders : files).push(name);
    } catch (error) {
      await complain(self, `${name}: ${errorText(error)}`);
      code = 1;
    }
  }
  for (const name of sorted(self, self.cwd, files, options)) await print(self, listLine(self, self.cwd, name, listing));
  let isFirst = files.length === 0;
  for (const name of folders) {
    if (names.length > 1 || options.has("R")) await print(self, `${isFirst ? "" : "\n"}${name}:\n`);
    isFirst = false;
    try {
      await listFolder(self, name, listing, folders);
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      await complain(self, `can't open '${name}': ${error.text}`);
      code = 1;
    }
  }
  return code;
}

async function listFolder(self: Self, name: string, listing: Listing, folders: string[]): Promise<void> {
  const { fs } = self.machine;
  const { options } = listing;
  const path = resolvePath(self.cwd, name);
  const hidden = options.has("a") || options.has("A");
  const entries = fs.readdir(path).filter((entry) => hidden || !entry.startsWith("."));
  if (options.has("a")) entries.unshift(".", "..");
  entries.splice(0, entries.length, ...sorted(self, path, entries, options));
  if (options.has("l")) {
    const blocks = entries.map((entry) => {
      const { type, size } = fs[options.has("L") ? "stat" : "lstat"](resolvePath(path, entry));
      return type === "symlink" ? 0 : Math.ceil(size / 4096);
    });
    await print(self, `total ${blocks.reduce((sum, count) => sum + count, 0) * 4}\n`);
  }
  if (self.stdout.isTerminal === true && !options.has("l") && !options.has("1"))
    await print(
      self,
      inColumns(
        entries.map((entry) => entry + mark(self, resolvePath(path, entry), options)),
        self,
      ),
    );
  else for (const entry of entries) await print(self, listLine(self, path, entry, listing));
  if (!options.has("R")) return;
  const below = entries.filter((entry) => entry !== "." && entry !== "..");
  folders.push(
    ...below
      .filter((entry) => fs.lstat(resolvePath(path, entry)).type === "directory")
      .map((entry) => `${name}/${entry}`),
  );
}

/** By size or by time, the largest and newest first; else by name. */
function sorted({ machine: { fs } }: Self, folder: string, names: readonly string[], options: Listing["options"]) {
  const key = options.has("S") ? "size" : options.has("t") ? "mtimeMs" : undefined;
  const ofName = (name: string) => (key === undefined ? 0 : fs.lstat(resolvePath(folder, name))[key]);
  const keyed = names.map((name) => ({ name, key: ofName(name) })).sort((a, b) => b.key - a.key);
  return (options.has("r") ? keyed.reverse() : keyed).map(({ name }) => name);
}

/** The sign of -F and -p after a name. */
function mark({ machine: { fs } }: Self, path: string, options: Listing["options"]): string {
  if (!options.has("F") && !options.has("p")) return "";
  const { type, mode } = fs.lstat(path);
  if (type === "directory" || !options.has("F")) return type === "directory" ? "/" : "";
  return type === "symlink" ? "@" : (mode & 0o111) === 0 ? "" : "*";
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

interface Listing {
  readonly options: ReadonlyMap<string, string>;
  readonly names: AccountNames;
}

function listLine(self: Self, folder: string, name: string, { options, names }: Listing): string {
  const { fs, clock } = self.machine;
  const path = resolvePath(folder, name);
  if (!options.has("l")) return `${name}${mark(self, path, options)}\n`;
  const stat = options.has("L") ? fs.stat(path) : fs.lstat(path);
  const when = new Date(stat.mtimeMs);
  const day = `${MONTHS[when.getUTCMonth()]} ${String(when.getUTCDate()).padStart(2)}`;
  const isRecent = Math.abs(clock.now() - stat.mtimeMs) < 180 * 86_400_000;
  const time = isRecent ? when.toISOString().slice(11, 16) : ` ${when.getUTCFullYear()}`;
  const target = stat.type === "symlink" ? ` -> ${fs.readlink(path)}` : mark(self, path, options);
  const owner = ownerText(stat, options.has("n") ? undefined : names);
  return `${typeAndMode(stat)} ${String(stat.links).padStart(4)} ${owner} ${String(stat.size).padStart(9)} ${day} ${time} ${name}${target}\n`;
}

const NAME_WIDTH = 8;

function ownerText({ uid, gid }: FileStat, names: AccountNames | undefined): string {
  const [user, group] = [names?.user(uid), names?.group(gid)];
  return [user ?? uid, group ?? gid].map((text) => String(text).slice(0, NAME_WIDTH).padEnd(NAME_WIDTH)).join(" ");
}

/** `mkdir [-p] FOLDER...` */
export async function mkdir(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "pm:");
  if (unknown !== undefined) return usage(self, unknown);
  const wanted = options.get("m");
  const mode = changedMode(wanted ?? "a=rwx", 0o777, { isFolder: true, umask: self.umask });
  if (mode === undefined) return usage(self, `invalid mode '${wanted}'`);
  const { fs } = self.machine;
  return eachPath(self, rest, "can't create directory ", (path) => {
    fs.mkdir(path, { recursive: options.has("p"), mode: 0o777 & ~self.umask });
    if (wanted !== undefined) fs.chmod(path, mode);
  });
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
  if (unknown !== undefined) return usage(self, unknown);
  const isRecursive = options.has("r") || options.has("R");
  return eachPath(self, rest, "can't remove ", (path) => removePath(self, path, isRecursive, options.has("f")));
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

/** `touch [-cham] [-d DATE] [-r FILE] FILE...` */
export async function touch(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "chamd:t:r:");
  if (unknown !== undefined) return usage(self, unknown);
  const { fs, clock } = self.machine;
  const [date, like] = [options.get("d") ?? options.get("t"), options.get("r")];
  const given = date === undefined ? undefined : parseDate(date, clock.now());
  if (date !== undefined && given === undefined) return usage(self, `invalid date '${date}'`);
  return eachPath(self, rest, undefined, (path) => {
    const mtimeMs = given ?? (like === undefined ? clock.now() : fs.stat(resolvePath(self.cwd, like)).mtimeMs);
    if (!fs.exists(path)) {
      if (options.has("c")) return;
      fs.write(path, Buffer.alloc(0), { mode: NEW_FILE_MODE & ~self.umask });
    }
    fs.utimes(path, mtimeMs);
  });
}

/** @param what stands before a quoted name in an error; undefined: the name is not quoted */
async function eachPath(
  self: Self,
  names: readonly string[],
  what: string | undefined,
  use: (path: string) => void,
): Promise<number> {
  if (names.length === 0) return usage(self, "missing operand");
  let code = 0;
  for (const name of names) {
    try {
      use(resolvePath(self.cwd, name));
    } catch (error) {
      await complain(self, `${what === undefined ? name : `${what}'${name}'`}: ${errorText(error)}`);
      code = 1;
    }
  }
  return code;
}
