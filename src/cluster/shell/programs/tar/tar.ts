import { createGunzip, createGzip } from "node:zlib";
import { FsError } from "../../fs/fs-error.js";
import { openForReading, openForWriting } from "../../fs/open-file.js";
import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import { type ByteSink, unitsOf } from "../../streams.js";
import { piecesOf, through, ZipError } from "../bytes/zip.js";
import { complain, fail, usage } from "../console.js";
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
  if (options === "empty archive") return fail(self, options);
  if (typeof options === "string") return usage(self, options || undefined);
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
  let isMade = false;
  try {
    if (options.mode === "create") {
      await create(run);
      isMade = true;
    } else await extract(run, input(run));
  } catch (caught) {
    // The unpacking process reports its problem, and tar the end of its input.
    if (caught instanceof ZipError) await run.complain(caught.message);
    const error = caught instanceof ZipError ? new TarError("short read") : tarError(caught);
    if (!(error instanceof TarError || error instanceof FsError)) throw error;
    await run.complain(error instanceof FsError ? `${subjectOf(run, error)}: ${error.text}` : error.message);
  }
  if (code !== 0 && options.mode === "create" && isMade)
    await complain(self, "error exit delayed from previous errors");
  return code;
}

/** What could not be opened: the archive, or the folder of -C. */
function subjectOf({ self, options }: TarRun, { path }: FsError): string {
  const isArchive = path === resolvePath(self.cwd, options.file);
  return isArchive ? `can't open '${options.file}'` : `can't change directory to '${options.folder}'`;
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
