import { constants, deflateRawSync, inflateRawSync } from "node:zlib";
import { StreamError } from "../bytes.js";
import { HEADER_DICTIONARY, HEADER_DICTIONARY_ID } from "./dictionary.js";

/** Names in lower case. A name with several values has them joined by a zero byte. */
export type SpdyHeaders = Readonly<Record<string, string>>;

/** How far back deflate can refer. */
const WINDOW_BYTES = 32_768;
const NO_BYTES = Buffer.alloc(0);

/** What goes into a header block, before it is compressed: a count, then names and values with their lengths. */
export function encodeHeaders(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers);
  const parts: Buffer[] = [uint32(entries.length)];
  for (const [name, value] of entries) {
    for (const text of [Buffer.from(name.toLowerCase()), Buffer.from(value)]) parts.push(uint32(text.length), text);
  }
  return Buffer.concat(parts);
}

/**
 * Mirrors github.com/moby/spdystream/spdy/read.go (parseHeaderValueBlock).
 *
 * @throws StreamError when the lengths do not add up, a name comes twice or is not in lower case
 */
export function decodeHeaders(block: Buffer): SpdyHeaders {
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
  if (at !== block.length) throw new StreamError(`header block: ${block.length - at} bytes too many`);
  return headers;
}

/**
 * Compresses the header blocks of one connection: one zlib stream that is flushed after each block and never ends.
 *
 * Node's zlib streams answer later, in another turn of the event loop, which would let frames overtake each other. So each
 * block is deflated at once, and what deflate has to remember, the last 32 KiB that went through, is handed to it.
 */
export class HeaderCompressor {
  #history: Buffer | undefined;

  compress(headers: SpdyHeaders): Buffer {
    const plain = encodeHeaders(headers);
    const history = this.#history ?? HEADER_DICTIONARY;
    const deflated = deflateRawSync(plain, {
      dictionary: history,
      finishFlush: constants.Z_SYNC_FLUSH,
      // More than what has gone through cannot be referred to: a small window is made faster.
      windowBits: history.length > 4096 ? 15 : 13,
      memLevel: 4,
    });
    const isFirst = this.#history === undefined;
    this.#history = remember(history, plain);
    return isFirst ? Buffer.concat([ZLIB_HEAD, deflated]) : deflated;
  }
}

/** How a zlib stream begins that uses a dictionary: method and window, flags, the dictionary's Adler-32. */
const ZLIB_HEAD = Buffer.concat([Buffer.from([0x78, 0xf9]), uint32(HEADER_DICTIONARY_ID)]);
const FLAG_DICTIONARY = 0x20;

/** Reads what a HeaderCompressor, or any other zlib that flushes to a byte after each block, made of headers. */
export class HeaderDecompressor {
  #history: Buffer | undefined;

  /** @param maxBytes of one block when inflated: more is refused before it takes memory */
  constructor(readonly maxBytes: number) {}

  /** @throws StreamError when it is no zlib stream, is too large, or what comes out is no header block */
  decompress(block: Buffer): SpdyHeaders {
    let history = this.#history;
    let deflated = block;
    if (history === undefined) {
      const hasDictionary = checkZlibHead(block);
      history = hasDictionary ? HEADER_DICTIONARY : NO_BYTES;
      deflated = block.subarray(hasDictionary ? 6 : 2);
    }
    const plain = this.#inflate(deflated, history);
    this.#history = remember(history, plain);
    return decodeHeaders(plain);
  }

  #inflate(deflated: Buffer, history: Buffer): Buffer {
    try {
      return inflateRawSync(deflated, {
        ...(history.length > 0 ? { dictionary: history } : {}),
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: this.maxBytes,
        chunkSize: 1024,
      });
    } catch (cause) {
      const isTooLarge = (cause as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE";
      const what = isTooLarge ? `larger than ${this.maxBytes} bytes when inflated` : "not compressed with zlib";
      throw new StreamError(`header block: ${what}`, { cause });
    }
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

function remember(history: Buffer, plain: Buffer): Buffer {
  const all = Buffer.concat([history, plain]);
  // Copied: a view would keep what is cut off alive.
  return all.length > WINDOW_BYTES ? Buffer.from(all.subarray(all.length - WINDOW_BYTES)) : all;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
