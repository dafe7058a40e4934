import type { IFileSystem } from "just-bash";
import type { ContainerFs } from "../fs/container-fs.js";
import { FsError } from "../fs/fs-error.js";
import { NEW_FILE_MODE } from "../fs/open-file.js";
import { resolvePath } from "../fs/paths.js";
import type { FileStat } from "../fs/stat.js";

type BashStat = Awaited<ReturnType<IFileSystem["stat"]>>;
type Content = Parameters<IFileSystem["writeFile"]>[1];
type Encoding = Parameters<IFileSystem["writeFile"]>[2];

/** A container's file system with the interface that just-bash expects. */
export function bashFileSystem(fs: ContainerFs, umask: number): IFileSystem {
  const mode = NEW_FILE_MODE & ~umask;
  const run = async <T>(operation: string, body: () => T): Promise<T> => {
    try {
      return body();
    } catch (error) {
      throw asBashError(error, operation);
    }
  };
  return {
    readFile: (path, options) => run("open", () => fs.readFile(path).toString(encodingOf(options) ?? "utf8")),
    readFileBuffer: (path) => run("open", () => fs.readFile(path)),
    writeFile: (path, content, options) =>
      run("open", () => fs.write(path, bytesOf(content, options), { truncate: true, mode })),
    appendFile: (path, content, options) => run("open", () => fs.write(path, bytesOf(content, options), { mode })),
    exists: async (path) => fs.exists(path),
    stat: (path) => run("stat", () => bashStat(fs.stat(path))),
    lstat: (path) => run("lstat", () => bashStat(fs.lstat(path))),
    mkdir: (path, options) => run("mkdir", () => fs.mkdir(path, { ...options, mode: 0o777 & ~umask })),
    readdir: (path) => run("scandir", () => fs.readdir(path)),
    rm: (path, options) => run("rm", () => remove(fs, path, options)),
    cp: (from, to, options) =>
      run("cp", () => copyFiles(fs, from, to, { isRecursive: options?.recursive === true, umask })),
    mv: (from, to) => run("rename", () => move(fs, from, to)),
    resolvePath,
    getAllPaths: () => [],
    chmod: (path, mode) => run("chmod", () => fs.chmod(path, mode)),
    symlink: (target, path) => run("symlink", () => fs.symlink(target, path)),
    link: (existing, path) => run("link", () => fs.link(existing, path)),
    readlink: (path) => run("readlink", () => fs.readlink(path)),
    realpath: (path) => run("realpath", () => fs.realpath(path)),
    utimes: (path, _atime, mtime) => run("utimes", () => fs.utimes(path, mtime.getTime())),
  };
}

function remove(fs: ContainerFs, path: string, options: { recursive?: boolean; force?: boolean } = {}): void {
  try {
    if (options.recursive === true && fs.lstat(path).type === "directory") {
      for (const name of fs.readdir(path)) remove(fs, resolvePath(path, name), options);
    }
    fs.remove(path);
  } catch (error) {
    if (!(options.force === true && error instanceof FsError && error.code === "ENOENT")) throw error;
  }
}

interface CopyOptions {
  readonly isRecursive: boolean;
  /** symbolic links, instead of copies of their targets */
  readonly keepsLinks?: boolean;
  /** owner, mode and time */
  readonly keepsAttributes?: boolean;
  readonly umask: number;
}

/** @throws FsError */
export function copyFiles(fs: ContainerFs, from: string, to: string, options: CopyOptions): void {
  const stat = options.keepsLinks === true ? fs.lstat(from) : fs.stat(from);
  if (stat.type === "symlink") {
    remove(fs, to, { force: true });
    fs.symlink(fs.readlink(from), to);
    return;
  }
  const mode = stat.mode & 0o777 & ~options.umask;
  if (stat.type !== "directory") fs.write(to, fs.readFile(from), { truncate: true, mode });
  else {
    if (!options.isRecursive) throw new FsError("EISDIR", from);
    fs.mkdir(to, { recursive: true, mode });
    for (const name of fs.readdir(from)) copyFiles(fs, resolvePath(from, name), resolvePath(to, name), options);
  }
  if (options.keepsAttributes !== true) return;
  try {
    fs.chown(to, stat);
  } catch (error) {
    // Only root can give files away.
    if (!(error instanceof FsError && error.code === "EPERM")) throw error;
  }
  fs.chmod(to, stat.mode);
  fs.utimes(to, stat.mtimeMs);
}

/** Copies like mv between two file systems. */
function move(fs: ContainerFs, from: string, to: string): void {
  try {
    fs.rename(from, to);
  } catch (error) {
    if (!(error instanceof FsError && error.code === "EXDEV")) throw error;
    copyFiles(fs, from, to, { isRecursive: true, umask: 0, keepsLinks: true, keepsAttributes: true });
    remove(fs, from, { recursive: true });
  }
}

function bashStat(stat: FileStat): BashStat {
  return {
    isFile: stat.type === "file" || stat.type === "device",
    isDirectory: stat.type === "directory",
    isSymbolicLink: stat.type === "symlink",
    mode: stat.mode,
    size: stat.size,
    mtime: new Date(stat.mtimeMs),
  };
}

function encodingOf(options: unknown): BufferEncoding | undefined {
  const encoding = typeof options === "string" ? options : (options as { encoding?: unknown } | undefined)?.encoding;
  return typeof encoding === "string" ? (encoding as BufferEncoding) : undefined;
}

function bytesOf(content: Content, options: Encoding): Uint8Array {
  return typeof content === "string" ? Buffer.from(content, encodingOf(options) ?? "utf8") : content;
}

/** Only the code in their text distinguishes just-bash's errors. */
function asBashError(error: unknown, operation: string): Error {
  if (!(error instanceof FsError)) return error instanceof Error ? error : new Error(String(error));
  const text = `${error.code}: ${error.text.toLowerCase()}, ${operation} '${error.path}'`;
  return Object.assign(new Error(text, { cause: error }), { code: error.code });
}
