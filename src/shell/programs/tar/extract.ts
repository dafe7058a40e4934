import type { ContainerFs } from "../../fs/container-fs.js";
import { errorText, FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import type { TarEntry } from "./format.js";
import { globMatches } from "./glob.js";
import type { TarReader } from "./reader.js";
import type { TarRun } from "./tar.js";

const UMASK = 0o022;

/** A link that may lead out of where the archive goes: made when nothing can be written through it any more. */
interface LateLink {
  readonly path: string;
  readonly entry: TarEntry;
}

/**
 * Lists or unpacks an archive. Names cannot leave the folder that it goes to: a leading slash is taken away, and what is
 * before a `..`; links that could lead out are made last. Mirrors busybox's archival/libarchive (data_extract_all.c,
 * unsafe_prefix.c, unsafe_symlink_target.c).
 */
export async function extract(run: TarRun, reader: TarReader): Promise<void> {
  const { self, options } = run;
  const into = options.folder === "" ? self.cwd : resolvePath(self.cwd, options.folder);
  if (options.mode === "extract" && self.machine.fs.stat(into).type !== "directory") throw new FsError("ENOTDIR", into);
  const late: LateLink[] = [];
  const folders: LateLink[] = [];
  for (let entry = await reader.next(); entry !== undefined; entry = await reader.next()) {
    const name = safeName(entry.name);
    if (!isWanted(name, run)) continue;
    await run.name(name);
    if (options.mode === "list" || name === "") continue;
    if (options.toStdout) {
      for await (const piece of reader.content()) await self.stdout.write(piece, self.signal);
      continue;
    }
    const path = resolvePath(into, name);
    try {
      await unpack(run, reader, path, { ...entry, name }, { late, folders, into });
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      await run.complain(`can't create '${name}': ${errorText(error)}`);
    }
  }
  for (const { path, entry } of late) await makeLink(run, path, entry);
  // The last first: what is put into a folder makes it younger.
  for (const { path, entry } of folders.reverse())
    if (!options.ignoresTimes) self.machine.fs.utimes(path, entry.mtimeMs);
}

function safeName(name: string): string {
  return name.replace(/^(?:.*\/)?\.\.(?:\/|$)/, "").replace(/^\/+/, "");
}

function isWanted(name: string, { options }: TarRun): boolean {
  if (options.excludes.some((pattern) => globMatches(pattern, name))) return false;
  if (options.members.length === 0) return true;
  const bare = name.replace(/\/+$/, "");
  return options.members.some((member) => {
    const wanted = safeName(member.name).replace(/\/+$/, "");
    return bare === wanted || bare.startsWith(`${wanted}/`) || globMatches(wanted, bare);
  });
}

interface Places {
  readonly late: LateLink[];
  readonly folders: LateLink[];
  readonly into: string;
}

async function unpack(run: TarRun, reader: TarReader, path: string, entry: TarEntry, places: Places): Promise<void> {
  const { fs } = run.self.machine;
  const folder = path.slice(0, path.lastIndexOf("/")) || "/";
  if (!fs.exists(folder)) fs.mkdir(folder, { recursive: true });
  switch (entry.type) {
    case "directory":
      if (!fs.exists(path)) {
        fs.mkdir(path);
        fs.chmod(path, modeOf(run, entry));
      }
      places.folders.push({ path, entry });
      return;
    case "file":
      return unpackFile(run, reader, path, entry);
    case "symlink":
      if (isUnsafe(entry.target)) places.late.push({ path, entry });
      else await makeLink(run, path, entry);
      return;
    case "link":
      if (makeRoom(run, path)) fs.link(resolvePath(places.into, safeName(entry.target)), path);
      return;
    default:
      await run.complain(`${entry.name}: unsupported file type`);
  }
}

async function unpackFile(run: TarRun, reader: TarReader, path: string, entry: TarEntry): Promise<void> {
  const { fs } = run.self.machine;
  if (!makeRoom(run, path)) return;
  fs.write(path, Buffer.alloc(0), { truncate: true, mode: modeOf(run, entry) });
  fs.chmod(path, modeOf(run, entry));
  let offset = 0;
  for await (const piece of reader.content()) {
    fs.write(path, piece, { offset });
    offset += piece.length;
  }
  if (!run.options.ignoresTimes) fs.utimes(path, entry.mtimeMs);
}

async function makeLink(run: TarRun, path: string, { target, name }: TarEntry): Promise<void> {
  try {
    if (makeRoom(run, path)) run.self.machine.fs.symlink(target, path);
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    await run.complain(`can't create '${name}': ${errorText(error)}`);
  }
}

/** What has the name goes away: a file is not written through a link. @returns false when it is to stay */
function makeRoom({ self, options }: TarRun, path: string): boolean {
  const { fs } = self.machine;
  if (!isThere(fs, path)) return true;
  if (options.keepsOld) return false;
  fs.remove(path);
  return true;
}

/** Also a link that leads nowhere. */
function isThere(fs: ContainerFs, path: string): boolean {
  try {
    fs.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof FsError && error.code === "ENOENT") return false;
    throw error;
  }
}

function isUnsafe(target: string): boolean {
  return target.startsWith("/") || target.split("/").includes("..");
}

function modeOf({ self, options }: TarRun, { mode }: TarEntry): number {
  const keeps = options.keepsPermissions ?? self.machine.user.uid === 0;
  return keeps ? mode : mode & ~UMASK;
}
