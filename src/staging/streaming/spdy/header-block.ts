import { constants, inflateRawSync } from "node:zlib";
import { StreamError } from "../bytes.js";
import { HEADER_DICTIONARY, HEADER_DICTIONARY_ID } from "./dictionary.js";

/** Names in lower case. Several values of a name are joined by a zero byte. */
export type SpdyHeaders = Readonly<Record<string, string>>;

/** deflate's longest back reference. */
const WINDOW_BYTES = 32_768;
const NO_BYTES = Buffer.alloc(0);

/** A header block before compression: a count, then names and values with their lengths. */
export function encodeHeaders(headers: SpdyHeaders): Buffer {
  const texts: string[] = [];
  let length = 4;
  for (const [name, value] of Object.entries(headers)) {
    texts.push(name.toLowerCase(), value);
    length += 8 + Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  const block = Buffer.allocUnsafe(length);
  let at = block.writeUInt32BE(texts.length / 2, 0);
  for (const text of texts) {
    const size = block.write(text, at + 4);
    at = block.writeUInt32BE(size, at) + size;
  }
  return block;
}

/**
 * Mirrors github.com/moby/spdystream/spdy/read.go (parseHeaderValueBlock).
 *
 * @throws StreamError if the lengths do not add up, or a name is repeated or not in lower case
 */
function decodeHeaders(block: Buffer): SpdyHeaders {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  let at = 0;
  const number = (): number => {
    if (at + 4 > block.length) throw new StreamError("header block: ends in the middle of a length");
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = number();
    if (length > block.length - at)
      throw new StreamError(`header block: ${length} bytes announced, ${block.length - at} left`);
    at += length;
    return block.toString("utf8", at - length, at);
  };
  for (let left = number(); left > 0; left--) {
    const name = text();
    if (name !== name.toLowerCase()) throw new StreamError("header block: header was not lowercased");
    if (name in headers) throw new StreamError("header block: multiple headers with same name");
    headers[name] = text();
  }
  if (at !== block.length) throw new StreamError(`header block: ${block.length - at} extra bytes`);
  return headers;
}

/**
 * Writes the header blocks of one connection: one zlib stream that is flushed after each block and never ends.
 *
 * Differs: the blocks are stored, not compressed (RFC 1951, 3.2.4). A Kubernetes stream has some forty bytes of
 * headers, for which setting up deflate would cost more than everything else about the frame.
 */
export class HeaderCompressor {
  #hasBegun = false;

  compress(headers: SpdyHeaders): Buffer {
    const plain = encodeHeaders(headers);
    const parts: Buffer[] = this.#hasBegun ? [] : [ZLIB_HEAD];
    this.#hasBegun = true;
    for (let at = 0; at < plain.length; at += MAX_STORED_BYTES) {
      const piece = plain.subarray(at, at + MAX_STORED_BYTES);
      parts.push(storedHead(piece.length), piece);
    }
    // The sign of a flush: readers hand out everything before it.
    parts.push(FLUSH);
    return Buffer.concat(parts);
  }
}

/** A stored block: not the last one, its length, and the inverted length. */
const STORED_HEAD_BYTES = 5;
const MAX_STORED_BYTES = 0xffff;
const FLUSH = storedHead(0);

function storedHead(length: number): Buffer {
  const head = Buffer.alloc(STORED_HEAD_BYTES);
  head.writeUInt16LE(length, 1);
  head.writeUInt16LE(length ^ 0xffff, 3);
  return head;
}

/** @returns the content of stored blocks; undefined if others are among them, which need inflate */
function storedBytes(deflated: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; at < deflated.length; ) {
    if (deflated[at] !== 0 || at + STORED_HEAD_BYTES > deflated.length) return undefined;
    const length = deflated.readUInt16LE(at + 1);
    if ((deflated.readUInt16LE(at + 3) ^ 0xffff) !== length) return undefined;
    at += STORED_HEAD_BYTES;
    if (at + length > deflated.length) return undefined;
    if (length > 0) parts.push(deflated.subarray(at, at + length));
    at += length;
  }
  return parts.length === 1 ? parts[0] : Buffer.concat(parts);
}

/** The beginning of a zlib stream with a dictionary: method and window, flags, the dictionary's Adler-32. */
const ZLIB_HEAD = Buffer.concat([Buffer.from([0x78, 0xf9]), uint32(HEADER_DICTIONARY_ID)]);
const FLAG_DICTIONARY = 0x20;

/**
 * Reads the blocks of a HeaderCompressor, or of any other zlib that flushes to a byte after each block.
 *
 * Node's zlib streams answer in another turn of the event loop, which would reorder frames. So each block is inflated
 * synchronously, with the last 32 KiB of output as its dictionary.
 */
export class HeaderDecompressor {
  /** the output so far, joined only when inflate needs it; undefined before the first block */
  #history: Buffer[] | undefined;
  #historyBytes = 0;

  /** @param maxBytes limit of one inflated block, checked before it takes memory */
  constructor(readonly maxBytes: number) {}

  /** @throws StreamError if the input is not a zlib stream, is too large, or does not contain a header block */
  decompress(block: Buffer): SpdyHeaders {
    let deflated = block;
    if (this.#history === undefined) {
      const hasDictionary = checkZlibHead(block);
      this.#history = hasDictionary ? [HEADER_DICTIONARY] : [];
      deflated = block.subarray(hasDictionary ? 6 : 2);
    }
    const plain = this.#inflate(deflated, this.#history);
    this.#remember(this.#history, plain);
    return decodeHeaders(plain);
  }

  #remember(history: Buffer[], plain: Buffer): void {
    // Copied, because a view would keep the whole chunk.
    history.push(Buffer.from(plain));
    this.#historyBytes += plain.length;
    if (this.#historyBytes > 2 * WINDOW_BYTES) this.#joined(history);
  }

  /** In one piece, no longer than deflate's back references. */
  #joined(history: Buffer[]): Buffer {
    if (history.length > 1) {
      const all = Buffer.concat(history);
      const kept = all.length > WINDOW_BYTES ? Buffer.from(all.subarray(all.length - WINDOW_BYTES)) : all;
      history.splice(0, history.length, kept);
      this.#historyBytes = kept.length;
    }
    return history[0] ?? NO_BYTES;
  }

  #inflate(deflated: Buffer, history: Buffer[]): Buffer {
    const stored = storedBytes(deflated);
    if (stored !== undefined) {
      if (stored.length > this.maxBytes) throw this.#tooLarge();
      return stored;
    }
    const dictionary = this.#joined(history);
    try {
      return inflateRawSync(deflated, {
        ...(dictionary.length > 0 ? { dictionary } : {}),
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: this.maxBytes,
        chunkSize: 1024,
      });
    } catch (cause) {
      if ((cause as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") throw this.#tooLarge(cause);
      throw new StreamError("header block: not compressed with zlib", { cause });
    }
  }

  #tooLarge(cause?: unknown): StreamError {
    return new StreamError(`header block: larger than ${this.maxBytes} bytes when inflated`, { cause });
  }
}

/** @returns whether the stream uses the dictionary */
function checkZlibHead(block: Buffer): boolean {
  const head = block.length >= 2 ? block.readUInt16BE(0) : 0;
  if (head % 31 !== 0 || (head & 0x0f00) !== 0x0800) throw new StreamError("header block: not compressed with zlib");
  if ((head & FLAG_DICTIONARY) === 0) return false;
  if (block.length < 6 || block.readUInt32BE(2) !== HEADER_DICTIONARY_ID) {
    throw new StreamError("header block: compressed with another dictionary than SPDY/3's");
  }
  return true;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
