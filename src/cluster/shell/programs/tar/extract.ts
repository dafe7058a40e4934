import { Readable } from "node:stream";
import { type ExtractEvents, extract as extractor, type Header } from "tar-stream";
import { withoutEnding } from "../../../../util/text/linear-text.js";
import type { ContainerFs } from "../../fs/container-fs.js";
import { errorText, FsError } from "../../fs/fs-error.js";
import { modeText } from "../../fs/mode.js";
import { resolvePath } from "../../fs/paths.js";
import { globMatches, safeName } from "./options.js";
import { TarError, type TarRun } from "./tar-run.js";

/** Archives older than ustar have no magic. */
const READER_OPTIONS = { highWaterMark: 65_536, allowUnknownFormat: true };

type Entry = ExtractEvents["entry"][1];

/** One member of an archive, with a name that stays inside the target folder. */
interface Member {
  readonly path: string;
  readonly name: string;
  readonly header: Header;
  readonly entry: Entry;
}

/**
 * Lists or unpacks an archive. Names cannot leave the target folder: a leading slash and everything up to a `..` are
 * removed, and symbolic links that could lead outside are created last, when nothing can be written through them.
 * Mirrors busybox's archival/libarchive (data_extract_all.c, unsafe_prefix.c, unsafe_symlink_target.c).
 */
export async function extract(run: TarRun, archive: AsyncIterable<Buffer>): Promise<void> {
  const { self, options } = run;
  const into = options.folder === "" ? self.cwd : resolvePath(self.cwd, options.folder);
  if (options.mode === "extract" && self.machine.fs.stat(into).type !== "directory") throw new FsError("ENOTDIR", into);
  const places: Places = { late: [], folders: [], into };
  const found = new Set<string>();
  for await (const entry of entriesOf(archive)) {
    const { header } = entry;
    const name = safeName(header.name);
    if (isWanted(name, run, found))
      await extractOne(run, { path: resolvePath(into, name), name, header, entry }, places);
    entry.resume(); // skips what was not read
  }
  for (const { name } of options.members) if (!found.has(name)) throw new TarError(`${name}: not found in archive`);
  for (const link of places.late) await makeLink(run, link);
  // In reverse order, because creating a file changes the time of its folder.
  for (const { path, header } of places.folders.reverse())
    if (!options.ignoresTimes) self.machine.fs.utimes(path, mtimeMsOf(header));
}

async function extractOne(run: TarRun, member: Member, places: Places): Promise<void> {
  const { self, options } = run;
  await run.name(options.mode === "list" && options.isVerbose ? longLine(member) : member.name);
  if (options.mode === "list" || member.name === "") return;
  if (options.toStdout) {
    for await (const piece of member.entry as AsyncIterable<Buffer>) await self.stdout.write(piece, self.signal);
    return;
  }
  try {
    await unpack(run, member, places);
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    await run.complain(`can't create '${member.name}': ${errorText(error)}`);
  }
}

const LETTERS: Readonly<Record<string, string>> = { directory: "d", symlink: "l" };

/** Mirrors busybox's archival/libarchive/header_verbose_list.c. */
function longLine({ name, header }: Member): string {
  const { type, mode = 0, uname, gname, uid = 0, gid = 0, size = 0, mtime, linkname } = header;
  const owner = `${uname || uid}/${gname || gid}`;
  const when = (mtime ?? new Date(0)).toISOString().slice(0, 19).replace("T", " ");
  const target = type === "symlink" || type === "link" ? ` -> ${linkname ?? ""}` : "";
  return `${LETTERS[type ?? "file"] ?? "-"}${modeText(mode)} ${owner} ${String(size).padStart(9)} ${when} ${name}${target}`;
}

async function* entriesOf(archive: AsyncIterable<Buffer>): AsyncGenerator<Entry> {
  const reader = extractor(READER_OPTIONS);
  let isEmpty = true;
  const source = Readable.from(archive, { objectMode: false });
  source.once("data", () => {
    isEmpty = false;
  });
  source.on("error", (error) => reader.destroy(error));
  source.pipe(reader);
  try {
    yield* reader;
  } finally {
    source.destroy();
    reader.destroy();
  }
  if (isEmpty) throw new TarError("short read");
}

/** @returns tar-stream's errors in busybox's words, others unchanged */
export function tarError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : "";
  if (message === "Unexpected end of data") return new TarError("short read");
  if (message.startsWith("Invalid tar header")) return new TarError("invalid tar header checksum");
  return /^(?:Invalid header|Header exceeds)/.test(message) ? new TarError("invalid tar header") : error;
}

/** @param found gets the members that were asked for */
function isWanted(name: string, { options }: TarRun, found: Set<string>): boolean {
  if (options.excludes.some((pattern) => globMatches(pattern, name))) return false;
  if (options.members.length === 0) return true;
  const bare = withoutEnding(name, "/");
  const matching = options.members.filter((member) => {
    const wanted = withoutEnding(safeName(member.name), "/");
    return bare === wanted || bare.startsWith(`${wanted}/`) || globMatches(wanted, bare);
  });
  for (const member of matching) found.add(member.name);
  return matching.length > 0;
}

interface Places {
  /** links that could lead out of `into` */
  readonly late: Member[];
  readonly folders: Member[];
  readonly into: string;
}

async function unpack(run: TarRun, member: Member, places: Places): Promise<void> {
  const { fs } = run.self.machine;
  const { path, name, header } = member;
  const target = header.linkname ?? "";
  const folder = path.slice(0, path.lastIndexOf("/")) || "/";
  if (!fs.exists(folder)) fs.mkdir(folder, { recursive: true });
  switch (header.type) {
    case "directory":
      if (!fs.exists(path)) {
        fs.mkdir(path);
        fs.chmod(path, modeOf(run, header));
      }
      places.folders.push(member);
      return;
    case "file":
    case "contiguous-file":
      return unpackFile(run, member);
    case "symlink":
      if (isUnsafe(target)) places.late.push(member);
      else await makeLink(run, member);
      return;
    case "link":
      if (makeRoom(run, path)) fs.link(resolvePath(places.into, safeName(target)), path);
      return;
    default:
      await run.complain(`${name}: unsupported file type`);
  }
}

async function unpackFile(run: TarRun, { path, header, entry }: Member): Promise<void> {
  const { fs } = run.self.machine;
  if (!makeRoom(run, path)) return;
  fs.write(path, Buffer.alloc(0), { truncate: true, mode: modeOf(run, header) });
  fs.chmod(path, modeOf(run, header));
  let offset = 0;
  let failure: FsError | undefined;
  // Leaving the loop early would destroy the whole archive's stream, so the rest of a failed file is read and dropped.
  for await (const piece of entry as AsyncIterable<Buffer>) {
    if (failure !== undefined) continue;
    try {
      fs.write(path, piece, { offset });
      offset += piece.length;
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      failure = error;
    }
  }
  if (failure !== undefined) throw failure;
  if (!run.options.ignoresTimes) fs.utimes(path, mtimeMsOf(header));
}

async function makeLink(run: TarRun, { path, name, header }: Member): Promise<void> {
  try {
    if (makeRoom(run, path)) run.self.machine.fs.symlink(header.linkname ?? "", path);
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    await run.complain(`can't create '${name}': ${errorText(error)}`);
  }
}

/** Removes what is at `path`, so that no file is written through a link. @returns false if -k keeps the old file */
function makeRoom({ self, options }: TarRun, path: string): boolean {
  const { fs } = self.machine;
  if (!isThere(fs, path)) return true;
  if (options.keepsOld) return false;
  fs.remove(path);
  return true;
}

/** Whether something is at `path`: a dangling link counts. */
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

function modeOf({ self, options }: TarRun, { mode }: Header): number {
  const keeps = options.keepsPermissions ?? self.machine.user.uid === 0;
  return keeps ? mode & 0o7777 : mode & 0o7777 & ~self.umask;
}

/** A pax header may have fractions of a second. @returns Unix ms */
function mtimeMsOf({ pax, mtime }: Header): number {
  const ms = Number((pax as Readonly<Record<string, string>> | null)?.["mtime"]) * 1000;
  return Number.isFinite(ms) ? ms : mtime.getTime() || 0;
}
