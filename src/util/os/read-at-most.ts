import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { SystemClock } from "../clock.js";

/** The largest size of a manifest, a kubeconfig or another file of a user. Mirrors maxConfigLength in pkg/kubelet/config. */
export const MAX_FILE_BYTES = 10 * 1024 * 1024;

/** Chunks below this size are copied together: an array of one-byte chunks costs 400 times its content. */
const COPIED_BYTES = 4 * 1024;
const BLOCK_BYTES = 16 * 1024;
const NO_BYTES = new Uint8Array();

/**
 * Collects the chunks of a stream. Its memory is proportional to the bytes, however small the chunks are. The first chunk, which
 * nearly always is the only one, is not copied.
 */
export class ByteCollector {
  readonly #pieces: Uint8Array[] = [];
  #block: Uint8Array = NO_BYTES;
  #used = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The number of buffers that are kept. */
  get pieceCount(): number {
    return this.#pieces.length + (this.#used > 0 ? 1 : 0);
  }

  push(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (chunk.length >= COPIED_BYTES || this.pieceCount === 0) {
      this.#closePiece();
      this.#pieces.push(chunk);
      return;
    }
    if (this.#used + chunk.length > this.#block.length) {
      this.#closePiece();
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    }
    this.#block.set(chunk, this.#used);
    this.#used += chunk.length;
  }

  bytes(): Buffer {
    this.#closePiece();
    const [only] = this.#pieces;
    if (only !== undefined && this.#pieces.length === 1) return Buffer.from(only.buffer, only.byteOffset, only.length);
    return Buffer.concat(this.#pieces, this.#length);
  }

  /** The rest of the block takes the next small chunks. */
  #closePiece(): void {
    if (this.#used === 0) return;
    this.#pieces.push(this.#block.subarray(0, this.#used));
    this.#block = this.#block.subarray(this.#used);
    this.#used = 0;
  }
}

/**
 * Reads a whole stream. Mirrors ReadAtMost in k8s.io/utils/io/read.go.
 * @throws an error with code EFBIG when the stream has more bytes; the signal's reason
 */
export async function readAtMost(
  source: AsyncIterable<Uint8Array | string>,
  maxBytes = MAX_FILE_BYTES,
  signal?: AbortSignal,
): Promise<Buffer> {
  const collector = new ByteCollector();
  for await (const chunk of source) {
    signal?.throwIfAborted();
    collector.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    if (collector.length > maxBytes) throw tooLarge(maxBytes);
  }
  signal?.throwIfAborted();
  return collector.bytes();
}

/**
 * Reads a file, a pipe or a device. A pipe without a writer and a device without an end stop at the signal.
 * @throws the file system's error, EFBIG as above, the signal's reason
 */
export async function readFileAtMost(path: string, signal?: AbortSignal, maxBytes = MAX_FILE_BYTES): Promise<Buffer> {
  return await readAtMost(chunksOfFile(path, signal, maxBytes), maxBytes, signal);
}

/** Where a shell's `<(...)` is. */
const SHELL_PIPE = /^\/(?:dev|proc)\//;

/**
 * The text of a regular file, or of a pipe of the shell. Other pipes and devices are refused, because reading one may never end.
 * @throws the file system's error; an error with code EINVAL
 */
export async function readRegularFile(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (found.isFile() || found.isDirectory()) return await file.readFile("utf8");
    if (found.isFIFO() && SHELL_PIPE.test(path)) return (await readFileAtMost(path)).toString();
    throw Object.assign(new Error("it is not a regular file"), { code: "EINVAL" });
  } finally {
    await file.close();
  }
}

/** The same as `readFileAtMost`, in chunks as they come. A file that is too large is refused before the first one. */
export async function* chunksOfFile(
  path: string,
  signal?: AbortSignal,
  maxBytes = MAX_FILE_BYTES,
): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  // A blocking open or read would hold a thread, and so the process, until a writer appears.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (found.isFile() && found.size > maxBytes) throw tooLarge(maxBytes);
    const waitsForWriter = found.isFIFO() && !SHELL_PIPE.test(path);
    yield* atMost(chunksOf(file, waitsForWriter, signal), maxBytes);
  } finally {
    await file.close();
  }
}

/** The chunks of a stream. @throws an error with code EFBIG when the stream has more bytes */
export async function* atMost(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let readBytes = 0;
  for await (const chunk of source) {
    readBytes += chunk.length;
    if (readBytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

const CHUNK_BYTES = 64 * 1024;
/** How often an empty pipe is read again. */
const PIPE_POLL_MS = 25;

async function* chunksOf(file: FileHandle, waitsForWriter: boolean, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const clock = new SystemClock();
  let isEmpty = true;
  for (;;) {
    signal?.throwIfAborted();
    const chunk = await readChunk(file);
    if (chunk !== undefined && chunk.length > 0) {
      isEmpty = false;
      yield chunk;
    } else if (chunk === undefined || (waitsForWriter && isEmpty)) await clock.sleep(PIPE_POLL_MS, signal);
    else return;
  }
}

/** @returns undefined while a pipe has a writer and no bytes */
async function readChunk(file: FileHandle): Promise<Uint8Array | undefined> {
  try {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafeSlow(CHUNK_BYTES), 0, CHUNK_BYTES, null);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    throw error;
  }
}

function tooLarge(maxBytes: number): Error {
  const limit = maxBytes % 1048576 === 0 ? `${maxBytes / 1048576} MiB` : `${maxBytes} bytes`;
  return Object.assign(new Error(`it has more than ${limit}`), { code: "EFBIG" });
}
