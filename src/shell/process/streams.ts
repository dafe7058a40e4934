import type { Terminal } from "./terminal.js";

/**
 * What processes read from and write to: byte streams that several processes may hold, as file descriptors do.
 *
 * Who is handed a stream holds it from `retain` to `release`; when nobody does any more it is closed.
 */

/** Bytes to read. */
export interface ByteSource {
  /**
   * What is there, at most `max` bytes of it; waits while there is nothing.
   * @returns undefined at the end
   * @throws the signal's reason
   */
  read(signal: AbortSignal, max?: number): Promise<Buffer | undefined>;
  /** Gives back what was read and not used: the next reader gets it first. */
  unread(bytes: Buffer): void;
  retain(): void;
  release(): void;
  readonly isTerminal?: boolean;
  /** the terminal that this is an end of */
  readonly terminal?: Terminal;
}

/** Somewhere to write bytes to. */
export interface ByteSink {
  /**
   * Resolves when there is room for more. The bytes must not be changed afterwards.
   * @throws BrokenPipeError when nobody will read it; the signal's reason
   */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void> | void;
  retain(): void;
  release(): void;
  readonly isTerminal?: boolean;
  /** the terminal that this is an end of */
  readonly terminal?: Terminal;
}

/** Nobody reads the other end. Whoever writes is sent SIGPIPE. */
export class BrokenPipeError extends Error {
  override readonly name = "BrokenPipeError";
  constructor() {
    super("Broken pipe");
  }
}

const NEWLINE = 0x0a;

/**
 * One line, with its newline unless the end came first; what follows stays in the source.
 * @returns undefined at the end
 */
export async function readLine(source: ByteSource, signal: AbortSignal): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  for (;;) {
    const bytes = await source.read(signal);
    if (bytes === undefined) return parts.length === 0 ? undefined : Buffer.concat(parts);
    const at = bytes.indexOf(NEWLINE);
    if (at < 0) {
      parts.push(bytes);
      continue;
    }
    if (at + 1 < bytes.length) source.unread(bytes.subarray(at + 1));
    parts.push(bytes.subarray(0, at + 1));
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }
}

/** All that comes until the end. */
export async function readAll(source: ByteSource, signal: AbortSignal): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (;;) {
    const bytes = await source.read(signal);
    if (bytes === undefined) return Buffer.concat(parts);
    parts.push(bytes);
  }
}

/** A source that is all there from the beginning: a here document, an empty stdin. */
export class BytesSource implements ByteSource {
  #rest: Buffer;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
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

/** A source without an end, made as it is read: /dev/zero, /dev/urandom. */
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

/** Keeps what is written, up to a limit; what is beyond it is dropped. */
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

/** Takes everything and keeps nothing: /dev/null. */
export class NullSink implements ByteSink {
  write(): void {}
  retain(): void {}
  release(): void {}
}
