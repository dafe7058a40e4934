import { once } from "node:events";
import { type Header, type Pack, pack } from "tar-stream";
import { withoutEnding } from "../../../../util/text/linear-text.js";
import { errorText, FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import type { FileStat } from "../../fs/stat.js";
import { globMatches, safeName } from "./options.js";
import type { TarRun } from "./tar-run.js";

const PIECE_BYTES = 65_536;
/** busybox pads an archive to a whole record of 20 blocks of 512 bytes. */
const RECORD_BYTES = 20 * 512;
const MAX_MTIME_MS = 0x7fff_ffff * 1000;

type EntryHeader = Pick<Header, "name" | "type" | "size"> & Partial<Header>;

/** Yields the archive piece by piece. @param ownPath the archive file, which is left out of the archive */
export async function* archive(run: TarRun, ownPath: string | undefined): AsyncGenerator<Buffer> {
  const packer = pack();
  const stop = new AbortController();
  const creation = new Creation(run, packer, ownPath, stop.signal);
  creation.addMembers().then(
    () => packer.finalize(),
    (error: Error) => packer.destroy(error),
  );
  let written = 0;
  try {
    for await (const piece of packer as AsyncIterable<Buffer>) {
      written += piece.length;
      yield piece;
    }
  } finally {
    stop.abort();
  }
  yield Buffer.alloc((RECORD_BYTES - (written % RECORD_BYTES)) % RECORD_BYTES);
}

/** Adds the members of one archive. Waits while nothing reads the archive. */
class Creation {
  #reportedStripped = false;

  constructor(
    readonly run: TarRun,
    readonly packer: Pack,
    readonly ownPath: string | undefined,
    readonly signal: AbortSignal,
  ) {}

  async addMembers(): Promise<void> {
    const { self, options } = this.run;
    for (const { folder, name } of options.members) {
      const base = folder === "" ? self.cwd : resolvePath(self.cwd, folder);
      await this.#add(resolvePath(base, name), name);
    }
  }

  async #add(path: string, name: string): Promise<void> {
    const { run } = this;
    const { fs } = run.self.machine;
    if (path === this.ownPath || run.options.excludes.some((pattern) => globMatches(pattern, name))) return;
    let header: EntryHeader | undefined;
    try {
      header = await this.#header(path, name);
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      await run.complain(`${name}: ${errorText(error)}`);
      return;
    }
    if (header === undefined) {
      await run.complain(`${name}: unknown file type`);
      return;
    }
    // The root folder has no name of its own: the archive gets only its content.
    if (header.name !== "" && header.name !== "/") {
      await run.name(header.name);
      await this.#write(header, path);
    }
    if (header.type !== "directory") return;
    for (const child of fs.readdir(path))
      await this.#add(resolvePath(path, child), `${withoutEnding(name, "/")}/${child}`);
  }

  async #header(path: string, name: string): Promise<EntryHeader | undefined> {
    const { self, options } = this.run;
    const { fs } = self.machine;
    const stat = options.followsLinks ? fs.stat(path) : fs.lstat(path);
    const type = entryType(stat);
    if (type === undefined) return undefined;
    const safe = safeName(name);
    if (safe !== name && !this.#reportedStripped) {
      this.#reportedStripped = true;
      const prefix = name.slice(0, name.length - safe.length);
      await self.stderr.write(Buffer.from(`tar: removing leading '${prefix}' from member names\n`), self.signal);
    }
    return {
      name: stat.type === "directory" && !safe.endsWith("/") ? `${safe}/` : safe,
      type,
      mode: stat.mode,
      size: stat.type === "file" ? stat.size : 0,
      mtime: new Date(Math.min(Math.max(0, stat.mtimeMs), MAX_MTIME_MS)),
      uname: "root",
      gname: "root",
      ...(stat.type === "symlink" ? { linkname: fs.readlink(path) } : {}),
    };
  }

  async #write(header: EntryHeader, path: string): Promise<void> {
    const entry = this.packer.entry(header);
    const closed = once(entry, "close", { signal: this.signal });
    if (header.type === "file")
      for (const piece of this.#content(path, header.size))
        if (!entry.write(piece)) await once(entry, "drain", { signal: this.signal });
    entry.end(undefined);
    await closed;
  }

  /** Exactly `size` bytes: a file that shrinks meanwhile is padded with zeros. */
  *#content(path: string, size: number): Generator<Buffer> {
    const { fs } = this.run.self.machine;
    for (let at = 0; at < size; ) {
      const wanted = Math.min(PIECE_BYTES, size - at);
      let piece = fs.read(path, at, wanted);
      if (piece.length === 0) piece = Buffer.alloc(wanted);
      at += piece.length;
      yield piece;
    }
  }
}

/** @returns undefined for a socket: an archive has none */
function entryType({ type }: FileStat): Header["type"] | undefined {
  if (type === "socket") return undefined;
  if (type === "device") return "character-device";
  return type;
}
