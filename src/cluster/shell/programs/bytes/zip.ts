import { Readable } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";
import { errorText, FsError } from "../../fs/fs-error.js";
import { openForReading, openForWriting } from "../../fs/open-file.js";
import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import { type ByteSink, type ByteSource, NullSink, unitsOf } from "../../streams.js";
import { complain, parseArgs, usage } from "../console.js";

/** `gzip [-cdfkt19] [FILE...]`, `gunzip`, `zcat`: streams. Mirrors busybox's archival/bbunzip.c (bbunpack). */
export async function gzip(self: Self): Promise<number> {
  const name = self.argv[0]?.split("/").at(-1);
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "cdfkt123456789nq");
  if (unknown !== undefined) return usage(self, unknown);
  const unpacks = name !== "gzip" || options.has("d") || options.has("t");
  const writesNoFile = name === "zcat" || options.has("c") || options.has("t");
  let code = 0;
  for (const one of rest.length === 0 ? ["-"] : rest) {
    try {
      await zipOne(self, one, options, { unpacks, writesNoFile: writesNoFile || one === "-" });
    } catch (error) {
      if (!(error instanceof FsError || error instanceof ZipError)) throw error;
      code = 1;
      await complain(self, error instanceof FsError ? `${one}: ${errorText(error)}` : error.message);
    }
  }
  return code;
}

/** The problem with an archive, in busybox's words. */
export class ZipError extends Error {
  override readonly name = "ZipError";
}

/** @throws FsError of the input; ZipError */
async function zipOne(
  self: Self,
  name: string,
  options: ReadonlyMap<string, string>,
  { unpacks, writesNoFile }: { readonly unpacks: boolean; readonly writesNoFile: boolean },
): Promise<void> {
  const { fs, random } = self.machine;
  const path = resolvePath(self.cwd, name);
  const source = name === "-" ? self.stdin : openForReading(fs, path, random);
  const target = writesNoFile ? undefined : targetOf(unpacks, name);
  let sink: ByteSink = options.has("t") ? new NullSink() : self.stdout;
  if (target !== undefined) {
    const to = resolvePath(self.cwd, target);
    if (fs.exists(to) && !options.has("f")) throw new ZipError(`can't open '${target}': File exists`);
    sink = openForWriting(fs, to, { append: false, umask: self.umask });
  }
  for await (const piece of through(piecesOf(source, self), unpacks ? createGunzip() : createGzip())) {
    await sink.write(piece, self.signal);
    await self.turn(unitsOf(piece.length));
  }
  if (target !== undefined && !options.has("k")) fs.remove(path);
}

/** The file that a file becomes. @throws ZipError for a name without the suffix of an archive */
function targetOf(unpacks: boolean, name: string): string {
  if (!unpacks) return `${name}.gz`;
  if (name.endsWith(".gz")) return name.slice(0, -3);
  if (name.endsWith(".tgz")) return name.replace(/tgz$/, "tar");
  throw new ZipError(`${name}: unknown suffix - ignored`);
}

/** What can be read of a source, piece by piece. */
export async function* piecesOf(source: ByteSource, self: Self): AsyncGenerator<Buffer> {
  for (;;) {
    const bytes = await source.read(self.signal);
    if (bytes === undefined) return;
    yield bytes;
    await self.turn(unitsOf(bytes.length));
  }
}

/** Packs or unpacks a stream. @throws ZipError */
export async function* through(
  pieces: AsyncIterable<Buffer>,
  zip: ReturnType<typeof createGzip> | ReturnType<typeof createGunzip>,
): AsyncGenerator<Buffer> {
  const source = Readable.from(pieces, { objectMode: false });
  source.on("error", (error) => zip.destroy(error));
  source.pipe(zip);
  try {
    for await (const piece of zip) yield piece as Buffer;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "Z_BUF_ERROR") throw new ZipError("unexpected end of file");
    if (code.startsWith("Z_")) throw new ZipError(/header/.test(String(error)) ? "invalid magic" : "corrupted data");
    throw error;
  } finally {
    source.destroy();
    zip.destroy();
  }
}
