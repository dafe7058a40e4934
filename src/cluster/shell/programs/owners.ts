import { defined } from "../../../util/defined.js";
import type { ContainerFs } from "../fs/container-fs.js";
import { errorText, FsError } from "../fs/fs-error.js";
import { changedMode, modeText } from "../fs/mode.js";
import { baseName, resolvePath } from "../fs/paths.js";
import type { FileStat } from "../fs/stat.js";
import { AccountNames, groupIdOf, userIdOf } from "../process/accounts.js";
import type { Self } from "../process/process.js";
import { complain, fail, parseArgs, print, usage } from "./console.js";

/** Changes each file, with -R also what is below. @returns the exit code */
async function eachFile(
  self: Self,
  names: readonly string[],
  options: ReadonlyMap<string, string>,
  change: (path: string, stat: FileStat) => void,
): Promise<number> {
  const { fs } = self.machine;
  let code = 0;
  const todo = [...names];
  for (let name = todo.shift(); name !== undefined; name = todo.shift()) {
    const path = resolvePath(self.cwd, name);
    try {
      const stat = fs.lstat(path);
      change(path, stat);
      if (options.has("R") && stat.type === "directory")
        todo.unshift(...fs.readdir(path).map((one) => `${name}/${one}`));
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      code = 1;
      if (!options.has("f")) await complain(self, `${name}: ${error.text}`);
    }
    await self.turn();
  }
  return code;
}

/** `chmod [-R] MODE FILE...`: octal, or `u+x,g=r` */
export async function chmod(self: Self): Promise<number> {
  // `-x` is a mode.
  const at = self.argv.findIndex((word, index) => index > 0 && !/^-[Rcvf]+$/.test(word));
  const { options } = parseArgs(self.argv.slice(1, at < 0 ? undefined : at), "Rcvf");
  const wrong = parseArgs([self.argv[at] ?? ""], "Rcvf").unknown;
  if (wrong !== undefined && !/^-[rwxXst,=+ugoa-]*$/.test(self.argv[at] ?? "")) return usage(self, wrong);
  const [mode = "", ...names] = at < 0 ? [] : self.argv.slice(at);
  if (names.length === 0) return usage(self);
  const { umask } = self;
  if (changedMode(mode, 0, { isFolder: false, umask }) === undefined) return fail(self, `invalid mode '${mode}'`);
  const { fs } = self.machine;
  return eachFile(self, names, options, (path, link) => {
    if (link.type === "symlink" && options.has("R")) return;
    const stat = link.type === "symlink" ? fs.stat(path) : link;
    const isFolder = stat.type === "directory";
    const after = changedMode(mode, stat.mode, { isFolder, umask }) ?? stat.mode;
    fs.chmod(path, after);
  });
}

/** `chown [-Rh] USER[:GROUP] FILE...`, `chgrp [-Rh] GROUP FILE...` */
export async function chown(self: Self): Promise<number> {
  const isGroup = baseName(self.argv[0] ?? "") === "chgrp";
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "RhLHPcvf");
  const [owner, ...names] = rest;
  if (unknown !== undefined || owner === undefined || names.length === 0) return usage(self, unknown);
  const { fs } = self.machine;
  const [, user = "", group = ""] = isGroup ? ["", "", owner] : (/^([^:.]*)(?:[:.](.*))?$/.exec(owner) ?? []);
  const uid = user === "" ? undefined : userIdOf(fs, user);
  const gid = group === "" ? undefined : groupIdOf(fs, group);
  if (user !== "" && uid === undefined) return fail(self, `unknown user ${user}`);
  if (group !== "" && gid === undefined) return fail(self, `unknown group ${group}`);
  const followLast = !options.has("h") && !options.has("R");
  return eachFile(self, names, options, (path) => fs.chown(path, defined({ uid, gid }), followLast));
}

const TYPES: Readonly<Record<FileStat["type"], readonly [text: string, letter: string, bits: number]>> = {
  file: ["regular file", "-", 0o100000],
  directory: ["directory", "d", 0o040000],
  symlink: ["symbolic link", "l", 0o120000],
  socket: ["socket", "s", 0o140000],
  device: ["character special file", "c", 0o020000],
};
const BLOCK_BYTES = 512;
const IO_BLOCK_BYTES = 4096;

/** The type and mode of a file as `ls -l` prints it: `drwxr-xr-x`. */
export function typeAndMode({ type, mode }: FileStat): string {
  return `${TYPES[type][1]}${modeText(mode)}`;
}

/** `stat [-L] [-c FORMAT] FILE...`. Differs: one device; access and change times are the modification time. */
export async function stat(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "Lltfc:");
  if (unknown !== undefined || rest.length === 0) return usage(self, unknown);
  const { fs } = self.machine;
  const names = new AccountNames(fs);
  let code = 0;
  for (const name of rest) {
    const path = resolvePath(self.cwd, name);
    try {
      if (options.has("f")) {
        await print(
          self,
          `${ofFileSystem(fs, path, name, options.get("c") ?? (options.has("t") ? TERSE_SYSTEM : LONG_SYSTEM))}\n`,
        );
        continue;
      }
      const found = options.has("L") ? fs.stat(path) : fs.lstat(path);
      const file: NamedFile = { ...found, name, target: found.type === "symlink" ? fs.readlink(path) : undefined };
      await print(
        self,
        `${formatted(names, options.get("c") ?? (options.has("t") ? TERSE_FORMAT : LONG_FORMAT), file)}\n`,
      );
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      code = 1;
      const what = options.has("f") ? "can't read file system information for" : "can't stat";
      await complain(self, `${what} '${name}': ${errorText(error)}`);
    }
  }
  return code;
}

interface NamedFile extends FileStat {
  /** as given */
  readonly name: string;
  /** of a symbolic link */
  readonly target: string | undefined;
}

function timeText(ms: number): string {
  const nanos = String(Math.floor((ms % 1000) * 1e6)).padStart(9, "0");
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")}.${nanos} +0000`;
}

function formatted(names: AccountNames, format: string, file: NamedFile): string {
  const { name, target, uid, gid, mode, size, mtimeMs, inode, links, type } = file;
  const [text, , bits] = TYPES[type];
  const fields: Readonly<Record<string, string | number | undefined>> = {
    a: mode.toString(8),
    A: typeAndMode(file),
    b: blocksOf(size),
    d: 1,
    D: "1",
    t: 0,
    T: 0,
    B: BLOCK_BYTES,
    f: (bits | mode).toString(16),
    F: type === "file" && size === 0 ? "regular empty file" : text,
    g: gid,
    G: names.group(gid) ?? "UNKNOWN",
    h: links,
    i: inode,
    n: name,
    N: target === undefined ? name : `'${name}' -> '${target}'`,
    o: IO_BLOCK_BYTES,
    s: size,
    u: uid,
    U: names.user(uid) ?? "UNKNOWN",
    "%": "%",
  };
  const [text2, seconds] = [timeText(mtimeMs), Math.floor(mtimeMs / 1000)];
  return filled(format, { ...fields, x: text2, y: text2, z: text2, X: seconds, Y: seconds, Z: seconds });
}

function filled(format: string, fields: Readonly<Record<string, string | number | undefined>>): string {
  return format.replace(/%([-0]?)(\d*)([a-zA-Z%])/g, (all, flag: string, width: string, letter: string) => {
    const value = fields[letter];
    if (value === undefined) return all;
    return flag === "-" ? String(value).padEnd(Number(width)) : String(value).padStart(Number(width), flag || " ");
  });
}

function blocksOf(size: number): number {
  return Math.ceil(size / IO_BLOCK_BYTES) * (IO_BLOCK_BYTES / BLOCK_BYTES);
}

const TERSE_FORMAT = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %o";
const TERSE_SYSTEM = "%n %i %l %t %s %S %b %f %a %c %d";
const LONG_SYSTEM = `  File: "%n"
    ID: %-8i Namelen: %-7l Type: %T
Block size: %-10s
Blocks: Total: %-10b Free: %-10f Available: %a
Inodes: Total: %-10c Free: %d`;
const TMPFS_MAGIC = "1021994";
const EXT_MAGIC = "ef53";
const OVERLAY_MAGIC = "794c7630";

/** `stat -f`. Differs: every file system has the number 1 and blocks of 4 KiB. @throws FsError */
function ofFileSystem(fs: ContainerFs, path: string, name: string, format: string): string {
  const { totalBytes, freeBytes, totalInodes, freeInodes } = fs.space(path);
  // Files of a mount have a time of birth.
  const disk =
    fs.stat(path).birthMs === undefined ? ([OVERLAY_MAGIC, "UNKNOWN"] as const) : ([EXT_MAGIC, "ext2/ext3"] as const);
  const [type, text] = fs.isTmpfs(path) ? [TMPFS_MAGIC, "tmpfs"] : disk;
  const blocks = (bytes: number) => Math.floor(bytes / IO_BLOCK_BYTES);
  return filled(format, {
    n: name,
    i: 1,
    l: 255,
    t: type,
    T: text,
    s: IO_BLOCK_BYTES,
    S: IO_BLOCK_BYTES,
    b: blocks(totalBytes),
    f: blocks(freeBytes),
    a: blocks(freeBytes),
    c: totalInodes,
    d: freeInodes,
    "%": "%",
  });
}

/** busybox's default, from print_stat in coreutils/stat.c. */
const LONG_FORMAT = `  File: %N
  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F
Device: 1h/1d\tInode: %-10i  Links: %h
Access: (%04a/%A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)
Access: %x
Modify: %y
Change: %z`;
