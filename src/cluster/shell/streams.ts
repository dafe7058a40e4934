import { decodeText } from "./byte-text.js";
import type { HeldMemory } from "./process/memory-account.js";

/**
 * Byte streams of processes. Several processes can hold one, as with file descriptors.
 *
 * A holder calls `retain` first and `release` last; the stream closes after the last release.
 */

/** A readable byte stream. */
export interface ByteSource {
  /**
   * Reads at most `max` available bytes; waits if there are none.
   * @returns undefined at the end
   * @throws the signal's reason
   */
  read(signal: AbortSignal, max?: number): Promise<Buffer | undefined>;
  /** Returns unused bytes to the stream: the next reader gets them first. */
  unread(bytes: Buffer): void;
  retain(): void;
  release(): void;
  readonly isTerminal?: boolean;
  /** /dev/null */
  readonly isNull?: boolean;
}

/** A writable byte stream. */
export interface ByteSink {
  /**
   * Resolves when there is room for more. The bytes must not change afterwards.
   * @throws BrokenPipeError without a reader; the signal's reason
   */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void> | void;
  retain(): void;
  release(): void;
  readonly isTerminal?: boolean;
  readonly isNull?: boolean;
}

/** The other end has no reader. The writer gets SIGPIPE. */
export class BrokenPipeError extends Error {
  override readonly name = "BrokenPipeError";
  constructor() {
    super("Broken pipe");
  }
}

const NEWLINE = 0x0a;

/** The reading process: it holds the bytes read so far in its memory, and yields to others. */
export interface Reader {
  readonly memory: HeldMemory;
  turn(units?: number): Promise<void> | undefined;
}

/** Removes the bytes that a shell's words cannot contain. */
export function dropZeros(bytes: Buffer): Buffer {
  return bytes.includes(0) ? Buffer.from(bytes.filter((byte) => byte !== 0)) : bytes;
}

/**
 * Reads one line, with its newline unless the stream ends first; later bytes stay in the stream. Drops zeros, as
 * shells do.
 * @returns undefined at the end
 * @throws OutOfMemoryError for a line that is too long
 */
export async function readLine(source: ByteSource, signal: AbortSignal, reader: Reader): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for (;;) {
    const read = await source.read(signal);
    if (read === undefined) return length === 0 ? undefined : Buffer.concat(parts);
    const bytes = dropZeros(read);
    const at = bytes.indexOf(NEWLINE);
    if (at < 0) {
      length += bytes.length;
      reader.memory.requireText(length);
      if (bytes.length > 0) parts.push(bytes);
      await reader.turn(unitsOf(read.length));
      continue;
    }
    if (at + 1 < bytes.length) source.unread(bytes.subarray(at + 1));
    parts.push(bytes.subarray(0, at + 1));
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }
}

/** The work of copying bytes. */
export function unitsOf(byteCount: number): number {
  return 1 + Math.floor(byteCount / 16_384);
}

/**
 * Reads everything up to the end. The bytes count as memory of the reading process until it ends or releases them.
 * @param keep returns the part of each piece to keep
 * @throws OutOfMemoryError
 */
export async function readAll(
  source: ByteSource,
  signal: AbortSignal,
  reader: Reader,
  keep = (bytes: Buffer): Buffer => bytes,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (;;) {
    const bytes = await source.read(signal);
    if (bytes === undefined) return Buffer.concat(parts);
    const kept = keep(bytes);
    reader.memory.hold(kept.length);
    if (kept.length > 0) parts.push(kept);
    await reader.turn(unitsOf(bytes.length));
  }
}

/** A source with fixed content: a here document, an empty stdin. */
export class BytesSource implements ByteSource {
  #rest: Buffer;
  readonly isNull: boolean;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.isNull = bytes.length === 0;
    this.#rest = bytes;
  }

  async read(_signal: AbortSignal, max = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    if (this.#rest.length === 0) return undefined;
    const bytes = this.#rest.subarray(0, Math.min(max, this.#rest.length));
    this.#rest = this.#rest.subarray(bytes.length);
    return bytes;
  }

  unread(bytes: Buffer): void {
    this.#rest = Buffer.concat([bytes, this.#rest]);
  }

  retain(): void {}
  release(): void {}
}

/** An endless source: /dev/zero, /dev/urandom. */
export class EndlessSource implements ByteSource {
  #given: Buffer[] = [];

  constructor(readonly make: (count: number) => Buffer) {}

  async read(_signal: AbortSignal, max = 65_536): Promise<Buffer | undefined> {
    const given = this.#given.pop();
    if (given === undefined) return this.make(Math.min(max, 65_536));
    if (given.length > max) this.#given.push(given.subarray(max));
    return given.subarray(0, max);
  }

  unread(bytes: Buffer): void {
    this.#given.push(bytes);
  }

  retain(): void {}
  release(): void {}
}

/** Collects output up to a limit and drops the rest. */
export class CollectingSink implements ByteSink {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  constructor(readonly maxBytes = Number.POSITIVE_INFINITY) {}

  get length(): number {
    return this.#length;
  }

  write(bytes: Uint8Array): void {
    const room = this.maxBytes - this.#length;
    if (room <= 0) return;
    const part = bytes.length > room ? bytes.subarray(0, room) : bytes;
    this.#parts.push(Uint8Array.prototype.slice.call(part));
    this.#length += part.length;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  retain(): void {}
  release(): void {}
}

/** Collects the output of `$(command)` in the memory of its shell, until that ends: the command may run longer. */
export class HeldSink implements ByteSink {
  readonly #parts: Uint8Array[] = [];
  #length = 0;
  #link: Disposable | undefined;

  constructor(readonly memory: HeldMemory) {}

  /** @throws OutOfMemoryError */
  write(bytes: Uint8Array): void {
    const kept = dropZeros(Buffer.from(bytes));
    this.memory.requireText(this.#length + kept.length);
    this.memory.hold(kept.length);
    this.#link ??= this.memory.onEnd(() => this.#drop());
    this.#parts.push(kept);
    this.#length += kept.length;
  }

  /** The collected text. The memory is free again. */
  take(): string {
    const text = decodeText(Buffer.concat(this.#parts));
    this.memory.release(this.#length);
    this.#link?.[Symbol.dispose]();
    this.#link = undefined;
    this.#drop();
    return text;
  }

  #drop(): void {
    this.#parts.length = 0;
    this.#length = 0;
  }

  retain(): void {}
  release(): void {}
}

/** Discards all output: /dev/null. */
export class NullSink implements ByteSink {
  readonly isNull = true;

  write(): void {}
  retain(): void {}
  release(): void {}
}
