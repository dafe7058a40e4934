import { errorText, FsError } from "../../fs/fs-error.js";
import { baseName, resolvePath } from "../../fs/paths.js";
import { copyFiles } from "../../language/bash-fs.js";
import type { Self } from "../../process/process.js";
import { complain, parseArgs, print, usage } from "../console.js";
import { agrees } from "../files.js";

/** The operands of mv and ln: sources, and a file or folder for them. @returns undefined if some are missing */
function targetOf(options: ReadonlyMap<string, string>, rest: readonly string[]) {
  const target = options.get("t") ?? rest.at(-1);
  const names = options.has("t") ? rest : rest.slice(0, -1);
  return target === undefined || names.length === 0 ? undefined : { target, names };
}

function isFolder({ machine: { fs }, cwd }: Self, name: string): boolean {
  const path = resolvePath(cwd, name);
  return fs.exists(path) && fs.stat(path).type === "directory";
}

const inFolder = (folder: string, name: string) => `${folder.replace(/\/$/, "")}/${baseName(name)}`;

/** `mv [-finTv] SOURCE... DEST`. Mirrors busybox's coreutils/mv.c. */
export async function mv(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "finTvt:");
  const found = targetOf(options, rest);
  if (unknown !== undefined || found === undefined) return usage(self, unknown);
  const intoFolder = !options.has("T") && (found.names.length > 1 || options.has("t") || isFolder(self, found.target));
  let code = 0;
  for (const name of found.names) {
    const to = intoFolder ? inFolder(found.target, name) : found.target;
    const exists = self.machine.fs.exists(resolvePath(self.cwd, to));
    if (exists && options.has("n")) continue;
    if (exists && options.has("i") && !(await agrees(self, `mv: overwrite '${to}'? `))) continue;
    try {
      move(self, resolvePath(self.cwd, name), resolvePath(self.cwd, to));
      if (options.has("v")) await print(self, `'${name}' -> '${to}'\n`);
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      await complain(self, `can't rename '${name}': ${error.text}`);
      code = 1;
    }
    await self.turn();
  }
  return code;
}

/** @throws FsError */
function move(self: Self, from: string, to: string): void {
  const { fs } = self.machine;
  const before = fs.lstat(from);
  if (fs.exists(to) && from !== to) {
    const after = fs.lstat(to);
    if (before.type === "directory" && after.type !== "directory") throw new FsError("ENOTDIR", to);
    if (before.type !== "directory" && after.type === "directory") throw new FsError("EISDIR", to);
    if (after.type === "directory" && fs.readdir(to).length > 0) throw new FsError("ENOTEMPTY", to);
  }
  if (from === to) return;
  try {
    fs.rename(from, to);
  } catch (error) {
    if (!(error instanceof FsError && error.code === "EXDEV")) throw error;
    copyFiles(fs, from, to, { isRecursive: true, keepsLinks: true, keepsAttributes: true, umask: self.umask });
    removeAll(self, from);
  }
}

function removeAll(self: Self, path: string): void {
  const { fs } = self.machine;
  if (fs.lstat(path).type === "directory")
    for (const name of fs.readdir(path)) removeAll(self, resolvePath(path, name));
  fs.remove(path);
}

/** `ln [-sfnTv] TARGET... LINK|FOLDER`. Mirrors busybox's coreutils/ln.c. */
export async function ln(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "sfnbtTvS:");
  if (unknown !== undefined || rest.length === 0) return usage(self, unknown);
  const [target, names] = rest.length === 1 ? [".", rest] : [rest.at(-1) ?? "", rest.slice(0, -1)];
  const { fs } = self.machine;
  const isLink = (name: string) =>
    fs.exists(resolvePath(self.cwd, name)) && fs.lstat(resolvePath(self.cwd, name)).type === "symlink";
  const intoFolder = isFolder(self, target) && !options.has("T") && !(options.has("n") && isLink(target));
  let code = 0;
  for (const name of names) {
    const to = intoFolder ? inFolder(target, name) : target;
    const path = resolvePath(self.cwd, to);
    const existing = resolvePath(self.cwd, name);
    try {
      if (!options.has("s") && !hasName(self, existing)) throw new FsError("ENOENT", existing);
      if (options.has("f") && hasName(self, path)) fs.remove(path);
      if (options.has("s")) fs.symlink(name, path);
      else fs.link(existing, path);
      if (options.has("v")) await print(self, `'${to}' -> '${name}'\n`);
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      await complain(self, `${error.path === existing && !options.has("s") ? name : to}: ${errorText(error)}`);
      code = 1;
    }
  }
  return code;
}

/** Whether there is a file or a link, even one that leads nowhere. */
function hasName({ machine: { fs } }: Self, path: string): boolean {
  try {
    fs.lstat(path);
    return true;
  } catch {
    return false;
  }
}
