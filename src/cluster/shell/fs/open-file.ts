import type { Random } from "../../../util/random.js";
import { type ByteSink, type ByteSource, EndlessSource, NullSink } from "../streams.js";
import type { ContainerFs } from "./container-fs.js";
import { OpenedFile } from "./opened-file.js";

const CHUNK_BYTES = 65_536;
/** Never modified, so one block is enough for all readers. */
const ZEROS = Buffer.alloc(CHUNK_BYTES);
const NOTHING = Buffer.alloc(0);

/** A file opened for reading. Each read continues after the last one, even if the file has grown. */
export class FileSource implements ByteSource {
  #offset = 0;
  readonly #file: OpenedFile;

  constructor(
    readonly fs: ContainerFs,
    readonly path: string,
  ) {
    this.#file = new OpenedFile(fs, path);
  }

  /** Whether its name is still the name of this file. */
  get isNamed(): boolean {
    return this.#file.isNamed;
  }

  /** Starts again if the file has become shorter than what was read. */
  rewindIfTruncated(): void {
    const { size } = this.#file;
    if (size > 0 && size < this.#offset) this.#offset = 0;
  }

  async read(signal: AbortSignal, max = CHUNK_BYTES): Promise<Buffer | undefined> {
    if (signal.aborted) throw signal.reason;
    const bytes = this.#file.read(this.#offset, Math.min(max, CHUNK_BYTES));
    if (bytes.length === 0) return undefined;
    this.#offset += bytes.length;
    return bytes;
  }

  unread(bytes: Buffer): void {
    this.#offset -= bytes.length;
  }

  retain(): void {}
  release(): void {}
}

/** A file opened for writing. */
class FileSink implements ByteSink {
  readonly append: boolean;
  #offset: number;
  readonly #file: OpenedFile;

  /** @param offset of the first byte; undefined: append */
  constructor(
    readonly fs: ContainerFs,
    readonly path: string,
    offset: number | undefined,
  ) {
    this.append = offset === undefined;
    this.#offset = offset ?? 0;
    this.#file = new OpenedFile(fs, path);
  }

  write(bytes: Uint8Array): void {
    this.#file.write(bytes, this.append ? undefined : this.#offset);
    this.#offset += bytes.length;
  }

  retain(): void {}
  release(): void {}
}

/** @throws FsError if the file does not exist, or is a folder */
export function openForReading(fs: ContainerFs, path: string, random: Random): ByteSource {
  const node = fs.stat(path).type === "device" ? fs.node(path) : undefined;
  if (node?.device === "null" || node?.device === "tty") return new EndSource();
  if (node?.device === "zero" || node?.device === "full") return new EndlessSource((count) => ZEROS.subarray(0, count));
  if (node?.device === "urandom") return new EndlessSource((count) => random.bytes(count));
  fs.read(path, 0, 0); // reports errors now
  return new FileSource(fs, path);
}

/** Programs ask for it when they create a file. */
export const NEW_FILE_MODE = 0o666;

/** How a file is opened for writing: at its end, or at an offset. Content after the offset is cut off or kept. */
export interface OpenForWriting {
  readonly append: boolean;
  readonly offset?: number;
  readonly keepsRest?: boolean;
  /** of the process: bits that a new file does not get */
  readonly umask: number;
}

/** @throws FsError if it is not writable */
export function openForWriting(fs: ContainerFs, path: string, how: OpenForWriting): ByteSink {
  const { append, offset = 0, keepsRest = false, umask } = how;
  const before = !append && !keepsRest && offset > 0 && fs.exists(path) ? fs.read(path, 0, offset, true) : NOTHING;
  const mode = NEW_FILE_MODE & ~umask;
  fs.write(path, before, append || keepsRest ? { mode } : { mode, truncate: true, offset: 0 });
  const device = fs.stat(path).type === "device" ? fs.node(path)?.device : undefined;
  return device !== undefined && device !== "full"
    ? new NullSink()
    : new FileSink(fs, path, append ? undefined : offset);
}

/** An empty source: /dev/null. */
class EndSource implements ByteSource {
  async read(): Promise<undefined> {
    return undefined;
  }
  unread(): void {}
  retain(): void {}
  release(): void {}
}
