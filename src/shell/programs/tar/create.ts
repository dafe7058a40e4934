import { errorText, FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import { BLOCK_BYTES, entryHead, padding, type TarEntry } from "./format.js";
import { globMatches } from "./glob.js";
import type { TarRun } from "./tar.js";

const PIECE_BYTES = 65_536;
/** busybox fills an archive up to a whole record of 20 blocks */
const RECORD_BYTES = 20 * BLOCK_BYTES;

/** The members as an archive, piece by piece. @param self the archive's own path, which does not go into it */
export async function* archive(run: TarRun, own: string | undefined): AsyncGenerator<Buffer> {
  const { self, options } = run;
  const state: CreateState = { own, saidStripped: false, written: 0 };
  for (const { folder, name } of options.members) {
    const base = folder === "" ? self.cwd : resolvePath(self.cwd, folder);
    yield* member(run, state, resolvePath(base, name), name);
  }
  const end = 2 * BLOCK_BYTES;
  yield Buffer.alloc(end + ((RECORD_BYTES - ((state.written + end) % RECORD_BYTES)) % RECORD_BYTES));
}

interface CreateState {
  readonly own: string | undefined;
  saidStripped: boolean;
  written: number;
}

async function* member(run: TarRun, state: CreateState, path: string, name: string): AsyncGenerator<Buffer> {
  const { self, options } = run;
  const { fs } = self.machine;
  if (path === state.own || options.excludes.some((pattern) => globMatches(pattern, name))) return;
  let entry: TarEntry;
  try {
    entry = await entryFor(run, state, path, name);
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    await run.complain(`${name}: ${errorText(error)}`);
    return;
  }
  // A name of which nothing is left but the root: only what is in it goes into the archive.
  if (entry.name !== "" && entry.name !== "/") {
    await run.name(entry.name);
    const head = entryHead(entry);
    state.written += head.length;
    yield head;
    if (entry.type === "file") yield* content(run, state, path, entry.size);
  }
  if (entry.type !== "directory") return;
  for (const child of fs.readdir(path)) {
    yield* member(run, state, resolvePath(path, child), `${name.replace(/\/+$/, "")}/${child}`);
  }
}

async function entryFor(run: TarRun, state: CreateState, path: string, name: string): Promise<TarEntry> {
  const { fs } = run.self.machine;
  const stat = run.options.followsLinks ? fs.stat(path) : fs.lstat(path);
  const { type, mode, mtimeMs, size } = stat;
  const safe = name.replace(/^(?:.*\/)?\.\.(?:\/|$)/, "").replace(/^\/+/, "");
  if (safe !== name && !state.saidStripped) {
    state.saidStripped = true;
    const prefix = name.slice(0, name.length - safe.length);
    await run.self.stderr.write(Buffer.from(`tar: removing leading '${prefix}' from member names\n`), run.self.signal);
  }
  return {
    name: type === "directory" && !safe.endsWith("/") ? `${safe}/` : safe,
    type,
    mode,
    size: type === "file" ? size : 0,
    mtimeMs,
    target: type === "symlink" ? fs.readlink(path) : "",
  };
}

/** Exactly as much as the head has promised: a file that shrinks meanwhile is filled up with zeros. */
async function* content(run: TarRun, state: CreateState, path: string, size: number): AsyncGenerator<Buffer> {
  const { fs } = run.self.machine;
  for (let at = 0; at < size; ) {
    const wanted = Math.min(PIECE_BYTES, size - at);
    let piece = fs.read(path, at, wanted);
    if (piece.length === 0) piece = Buffer.alloc(wanted);
    at += piece.length;
    yield piece;
  }
  const fill = padding(size);
  state.written += size + fill.length;
  if (fill.length > 0) yield fill;
}
