import { errorText, FsError } from "../fs/fs-error.js";
import { changedMode } from "../fs/mode.js";
import { NEW_FILE_MODE } from "../fs/open-file.js";
import { baseName, resolvePath } from "../fs/paths.js";
import type { Self } from "../process/process.js";
import { readLine } from "../streams.js";
import { complain, fail, parseArgs, usage, warn } from "./console.js";
import { parseDate } from "./date.js";

/** `mkdir [-p] FOLDER...` */
export async function mkdir(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "pm:");
  if (unknown !== undefined) return usage(self, unknown);
  const wanted = options.get("m");
  const mode = changedMode(wanted ?? "a=rwx", 0o777, { isFolder: true, umask: self.umask });
  if (mode === undefined) return fail(self, `invalid mode '${wanted}'`);
  const { fs } = self.machine;
  return eachPath(self, rest, "can't create directory ", (path) => {
    fs.mkdir(path, { recursive: options.has("p"), mode: 0o777 & ~self.umask });
    if (wanted !== undefined) fs.chmod(path, mode);
  });
}

/** `rmdir [-p] [--ignore-fail-on-non-empty] FOLDER...` */
export async function rmdir(self: Self): Promise<number> {
  const args = self.argv.slice(1);
  const isLenient = args.includes("--ignore-fail-on-non-empty");
  const given = args
    .filter((arg) => arg !== "--ignore-fail-on-non-empty")
    .map((arg) => (arg === "--parents" ? "-p" : arg));
  const { options, rest, unknown } = parseArgs(given, "p");
  if (unknown !== undefined) return usage(self, unknown);
  const { fs } = self.machine;
  const chains = rest.map((name) => (options.has("p") ? withParents(name) : [name]));
  if (chains.length === 0) return usage(self);
  let code = 0;
  for (const chain of chains) {
    for (const name of chain) {
      try {
        const path = resolvePath(self.cwd, name);
        if (fs.lstat(path).type !== "directory") throw new FsError("ENOTDIR", path);
        fs.remove(path);
      } catch (error) {
        if (!(error instanceof FsError)) throw error;
        if (isLenient && error.code === "ENOTEMPTY") break;
        await complain(self, `'${name}': ${error.text}`);
        code = 1;
        break;
      }
    }
  }
  return code;
}

/** `a/b/c`, `a/b`, `a` */
function withParents(name: string): readonly string[] {
  const parts = name.replace(/\/$/, "").split("/");
  return parts.map((_part, at) => parts.slice(0, parts.length - at).join("/")).filter((one) => one !== "");
}

/** `rm [-irf] FILE...` */
export async function rm(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "rRfi");
  if (unknown !== undefined) return usage(self, unknown);
  if (rest.length === 0) return options.has("f") ? 0 : usage(self);
  const { fs } = self.machine;
  const isRecursive = options.has("r") || options.has("R");
  const confirm = options.has("i") && !options.has("f");
  let code = 0;
  for (const name of rest) {
    const path = resolvePath(self.cwd, name);
    if (/^\.\.?$/.test(baseName(name))) {
      code = await fail(self, "can't remove '.' or '..'");
      continue;
    }
    try {
      const isFolder = fs.lstat(path).type === "directory";
      if (isFolder && !isRecursive) code = await fail(self, `'${name}' is a directory`);
      else if (!confirm || (await agrees(self, `rm: remove '${name}'? `))) removePath(self, path);
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      if (options.has("f") && error.code === "ENOENT") continue;
      const shown = error.path === path ? name : error.path;
      code = await fail(self, `can't remove '${shown}': ${error.text}`);
    }
  }
  return code;
}

function removePath(self: Self, path: string): void {
  const { fs } = self.machine;
  if (fs.lstat(path).type === "directory")
    for (const name of fs.readdir(path)) removePath(self, resolvePath(path, name));
  fs.remove(path);
}

/** Asks on stderr, and reads the answer. */
export async function agrees(self: Self, question: string): Promise<boolean> {
  await warn(self, question);
  const line = await readLine(self.stdin, self.signal, self);
  return /^[yY]/.test(line?.toString() ?? "");
}

/** `unlink FILE` */
export async function unlink(self: Self): Promise<number> {
  const [name = ""] = self.argv.slice(1);
  const path = resolvePath(self.cwd, name);
  const { fs } = self.machine;
  try {
    if (fs.lstat(path).type === "directory") throw new FsError("EISDIR", path);
    fs.remove(path);
    return 0;
  } catch (error) {
    return fail(self, `can't remove file '${name}': ${errorText(error)}`);
  }
}

const SIZE_UNITS: Readonly<Record<string, number>> = { "": 1, b: 512, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** `truncate [-c] -s SIZE FILE...` */
export async function truncate(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "cs:");
  const size = options.get("s");
  if (unknown !== undefined || size === undefined || rest.length === 0) return usage(self, unknown);
  const [, digits, unit = ""] = /^(\d+)([bkmg]?)$/i.exec(size) ?? [];
  if (digits === undefined) return fail(self, `invalid number '${size}'`);
  const wanted = Number(digits) * (SIZE_UNITS[unit.toLowerCase()] ?? 1);
  const { fs } = self.machine;
  return eachPath(self, rest, undefined, (path) => {
    if (!fs.exists(path) && options.has("c")) return;
    const before = fs.exists(path) ? fs.readFile(path) : Buffer.alloc(0);
    self.memory.require(wanted);
    const after = Buffer.concat([before, Buffer.alloc(Math.max(0, wanted - before.length))]).subarray(0, wanted);
    fs.write(path, after, { truncate: true, offset: 0, mode: NEW_FILE_MODE & ~self.umask });
  });
}

/** `mkfifo NAME`, `mknod NAME TYPE`. Differs: the file systems here have neither pipes nor devices to make. */
export async function makeSpecial(self: Self): Promise<number> {
  const { rest, unknown } = parseArgs(self.argv.slice(1), "m:");
  if (unknown !== undefined || rest[0] === undefined) return usage(self, unknown);
  return fail(self, `${rest[0]}: Operation not supported`);
}

const DAY_MS = 86_400_000;

/** `touch [-cham] [-d DATE] [-r FILE] FILE...` */
export async function touch(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "chamd:t:r:");
  if (unknown !== undefined) return usage(self, unknown);
  const { fs, clock } = self.machine;
  const [date, like] = [options.get("d") ?? options.get("t"), options.get("r")];
  const parsed = date === undefined ? undefined : parseDate(date, clock.now());
  // A date alone keeps the time of day.
  const given = parsed !== undefined && /^\d{4}-\d\d-\d\d$/.test(date ?? "") ? parsed + (clock.now() % DAY_MS) : parsed;
  if (like !== undefined && !fs.exists(resolvePath(self.cwd, like)))
    return fail(self, `can't stat '${like}': No such file or directory`);
  if (date !== undefined && given === undefined) return fail(self, `invalid date '${date}'`);
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
  if (names.length === 0) return usage(self);
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
