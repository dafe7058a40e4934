/** The bytes end in the middle of a value or are invalid. The messages are those of Go's decoders. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/** A field's wire type: the low three bits of its tag. */
export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

/**
 * The messages within one message. A list of 16 MiB whose containers have IDs and labels has a fifth of it; one of empty
 * messages, of two bytes each, would fill gigabytes of memory. Go has no such limit.
 */
const MAX_NESTED_MESSAGES = 1_000_000;

/** A method of Node's Buffer that its types omit: it decodes without looking up an encoding by name. */
interface SlicingBuffer extends Buffer {
  utf8Slice(start: number, end: number): string;
}

/** 64 bits as two halves or as one bigint: the cheapest conversion between the two. */
const halves = new Uint32Array(2);
const signed = new BigInt64Array(halves.buffer);
const unsigned = new BigUint64Array(halves.buffer);

/** Map keys by a hash of their bytes, because ten thousand containers carry the same few label names. */
const KEY_SLOTS = 1024;
const MAX_CACHED_KEY = 96;
const keys: (string | undefined)[] = new Array<string | undefined>(KEY_SLOTS).fill(undefined);

/**
 * Reads protobuf's wire format from front to back, without copying. `end` changes while a nested message is read.
 *
 * Accepts text that is not UTF-8: invalid bytes become U+FFFD; the Go types of Kubernetes v1.25 passed such bytes on.
 */
export class Reader {
  readonly #bytes: SlicingBuffer;
  #nested = 0;

  constructor(
    bytes: Buffer,
    public at = 0,
    public end = bytes.length,
  ) {
    this.#bytes = bytes as SlicingBuffer;
  }

  get isAtEnd(): boolean {
    return this.at >= this.end;
  }

  /** The next field's number and wire type. Mirrors the generated Unmarshal methods, which refuse the number 0. */
  tag(): { readonly number: number; readonly wireType: number } {
    const tag = this.uint32();
    if (tag >>> 3 === 0) throw new ProtobufError(`proto: illegal tag 0 (wire type ${tag})`);
    return { number: tag >>> 3, wireType: tag & 7 };
  }

  /** The low 32 bits of a varint, unsigned: tags, lengths, enums and small integers. Nearly all are a single byte. */
  uint32(): number {
    const first = this.#bytes[this.at] as number;
    if (first >= 0x80 || this.at >= this.end) return this.#longUint32(first);
    this.at++;
    return first;
  }

  #longUint32(first: number): number {
    const bytes = this.#bytes;
    let at = this.at + 1;
    let byte = first;
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      if (shift > 63) throw new ProtobufError("proto: integer overflow");
      byte = bytes[at++] as number;
      if (shift < 32) value |= (byte & 0x7f) << shift;
    }
    // A read past the end gives `undefined`, which ends the loop like a final byte.
    if (at > this.end) throw unexpectedEnd();
    this.at = at;
    return value >>> 0;
  }

  int32(): number {
    return this.uint32() | 0;
  }

  bool(): boolean {
    this.#varint();
    return halves[0] !== 0 || halves[1] !== 0;
  }

  int64(): bigint {
    this.#varint();
    return signed[0] as bigint;
  }

  uint64(): bigint {
    this.#varint();
    return unsigned[0] as bigint;
  }

  double(): number {
    this.#need(8);
    this.at += 8;
    return this.#bytes.readDoubleLE(this.at - 8);
  }

  /** Stores the 64 bits of a varint in `halves`. */
  #varint(): void {
    const bytes = this.#bytes;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= this.end) throw unexpectedEnd();
      const byte = bytes[this.at++] as number;
      if (shift < 28) low |= (byte & 0x7f) << shift;
      else if (shift === 28) {
        low |= (byte & 0x7f) << 28;
        high |= (byte & 0x7f) >>> 4;
      } else high |= (byte & 0x7f) << (shift - 32);
      if (byte < 0x80) {
        halves[0] = low;
        halves[1] = high;
        return;
      }
    }
    throw new ProtobufError("proto: integer overflow");
  }

  /** The length of the following bytes, after checking that they are present. */
  length(): number {
    const first = this.#bytes[this.at] as number;
    const length = first < 0x80 ? first : this.#longUint32(first);
    if (first < 0x80) this.at++;
    if (this.at + length > this.end) throw unexpectedEnd();
    return length;
  }

  /** As `length`, for a nested message. */
  nestedLength(): number {
    if (++this.#nested > MAX_NESTED_MESSAGES) {
      throw new ProtobufError(`more than ${MAX_NESTED_MESSAGES} nested messages`);
    }
    return this.length();
  }

  string(): string {
    const length = this.length();
    const start = this.at;
    this.at = start + length;
    return length === 0 ? "" : this.#bytes.utf8Slice(start, this.at);
  }

  /** @returns a view, not a copy */
  chunk(): Buffer {
    const length = this.length();
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }

  /** A copy, so that it does not keep the received buffer in memory. */
  bytes(): Buffer {
    return Buffer.from(this.chunk());
  }

  /** A string that is likely to repeat: a map's key. */
  key(): string {
    const length = this.length();
    if (length === 0) return "";
    if (length > MAX_CACHED_KEY) {
      this.at += length;
      return this.#bytes.utf8Slice(this.at - length, this.at);
    }
    const bytes = this.#bytes;
    const start = this.at;
    this.at = start + length;
    const slot = slotOf(bytes, start, length);
    const known = keys[slot];
    if (known !== undefined && known.length === length && equals(known, bytes, start)) return known;
    const key = bytes.utf8Slice(start, this.at);
    keys[slot] = key;
    return key;
  }

  /**
   * Reads a string and returns it if it is one of these texts, otherwise undefined.
   * @param byLength the texts by length in UTF-8, because nearly all other strings differ in length
   */
  keyAmong(byLength: readonly (readonly string[] | undefined)[]): string | undefined {
    const length = this.length();
    this.at += length;
    const texts = byLength[length];
    if (texts === undefined) return undefined;
    // One native call compares all bytes; the known text is a faster key than the new string.
    return texts[texts.indexOf(this.#bytes.utf8Slice(this.at - length, this.at))];
  }

  /** Reports whether this one-byte tag comes next. */
  isNext(tag: number): boolean {
    return this.#bytes[this.at] === tag;
  }

  /** Skips the value of an unknown field. */
  skip(wireType: number): void {
    switch (wireType) {
      case VARINT:
        this.#varint();
        return;
      case FIXED64:
        this.#need(8);
        this.at += 8;
        return;
      case BYTES: {
        const length = this.length();
        this.at += length;
        return;
      }
      case START_GROUP:
        this.#skipGroup();
        return;
      case FIXED32:
        this.#need(4);
        this.at += 4;
        return;
      default:
        throw new ProtobufError(`proto: illegal wireType ${wireType}`);
    }
  }

  /** Groups can contain groups; a counter replaces recursion, so that no message can exhaust the stack. */
  #skipGroup(): void {
    for (let depth = 1; depth > 0; ) {
      const wireType = this.uint32() & 7;
      if (wireType === START_GROUP) depth++;
      else if (wireType === END_GROUP) depth--;
      else this.skip(wireType);
    }
  }

  #need(count: number): void {
    if (this.at + count > this.end) throw unexpectedEnd();
  }
}

function unexpectedEnd(): ProtobufError {
  return new ProtobufError("unexpected EOF");
}

function slotOf(bytes: Buffer, start: number, length: number): number {
  const middle = bytes[start + (length >> 1)] as number;
  const last = bytes[start + length - 1] as number;
  return (length * 31 + middle * 7 + last * 131) & (KEY_SLOTS - 1);
}

/** Compares byte by byte: a text with non-ASCII letters never matches, and is decoded again. */
function equals(text: string, bytes: Buffer, start: number): boolean {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) !== bytes[start + i]) return false;
  }
  return true;
}
