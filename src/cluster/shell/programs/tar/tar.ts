import { Readable } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";
import { errorText, FsError } from "../../fs/fs-error.js";
import { openForReading, openForWriting } from "../../fs/open-file.js";
import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import type { ByteSink, ByteSource } from "../../streams.js";
import { unitsOf } from "../../streams.js";
import { complain, usage } from "../console.js";
import { archive } from "./create.js";
import { extract, tarError } from "./extract.js";
import { parseTarOptions } from "./options.js";
import { TarError, type TarRun } from "./tar-run.js";

/**
 * `tar [-]c|x|t[vzmpOkh] [-f FILE] [-C FOLDER] [NAME...]`: streams, as `kubectl cp` needs it.
 * Mirrors busybox's archival/tar.c. Differs: owners are not kept, there is no -j and -J, long names are written as pax
 * headers, and archives are read to the end of the input, not to the first block of zeros.
 */
export async function tar(self: Self): Promise<number> {
  const options = parseTarOptions(self.argv.slice(1));
  if (typeof options === "string") return usage(self, options);
  let code = 0;
  const names = options.mode === "create" && options.file === "-" ? self.stderr : self.stdout;
  const run: TarRun = {
    self,
    options,
    complain: async (text) => {
      code = 1;
      await complain(self, text);
    },
    name: async (text) => {
      if (options.isVerbose || options.mode === "list") await names.write(Buffer.from(`${text}\n`), self.signal);
    },
  };
  try {
    if (options.mode === "create") await create(run);
    else await extract(run, input(run));
  } catch (caught) {
    const error = tarError(caught);
    if (!(error instanceof TarError || error instanceof FsError)) throw error;
    await run.complain(error instanceof FsError ? errorText(error) : error.message);
  }
  return code;
}

async function create(run: TarRun): Promise<void> {
  const { self, options } = run;
  const { fs } = self.machine;
  const path = resolvePath(self.cwd, options.file);
  const sink: ByteSink =
    options.file === "-" ? self.stdout : openForWriting(fs, path, { append: false, umask: self.umask });
  const blocks = archive(run, options.file === "-" ? undefined : path);
  const pieces = options.isGzip ? through(blocks, createGzip()) : blocks;
  for await (const piece of pieces) {
    await sink.write(piece, self.signal);
    await self.turn(unitsOf(piece.length));
  }
}

function input({ self, options }: TarRun): AsyncIterable<Buffer> {
  const { fs, random } = self.machine;
  const path = resolvePath(self.cwd, options.file);
  const source = options.file === "-" ? self.stdin : openForReading(fs, path, random);
  const pieces = piecesOf(source, self);
  return options.isGzip ? through(pieces, createGunzip()) : pieces;
}

async function* piecesOf(source: ByteSource, self: Self): AsyncGenerator<Buffer> {
  for (;;) {
    const bytes = await source.read(self.signal);
    if (bytes === undefined) return;
    yield bytes;
    await self.turn(unitsOf(bytes.length));
  }
}

async function* through(
  pieces: AsyncIterable<Buffer>,
  zip: ReturnType<typeof createGzip> | ReturnType<typeof createGunzip>,
): AsyncGenerator<Buffer> {
  const source = Readable.from(pieces, { objectMode: false });
  source.on("error", (error) => zip.destroy(error));
  source.pipe(zip);
  try {
    for await (const piece of zip) yield piece as Buffer;
  } catch (error) {
    if (error instanceof Error && "code" in error && String(error.code).startsWith("Z_"))
      throw new TarError("invalid gzip magic");
    throw error;
  } finally {
    source.destroy();
    zip.destroy();
  }
}
