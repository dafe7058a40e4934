import { BYTES, VARINT } from "./reader.js";

/** Methods of Node's Buffer that its types omit. */
interface WritingBuffer extends Buffer {
  utf8Write(text: string, at: number, length: number): number;
}

/** Up to this length a loop over characters is faster than a native call. */
const SHORT_TEXT = 20;
const FIRST_SIZE = 256;

const halves = new Uint32Array(2);
const signed = new BigInt64Array(halves.buffer);

/**
 * Writes protobuf's wire format from back to front: the length of a nested message is known when its head is written, so
 * nothing is measured or moved. Callers write fields, items and values in reverse order, and each tag after its value.
 */
export class Writer {
  #bytes: WritingBuffer;
  /** start of the written bytes, which extend to the end of the buffer */
  #at: number;

  /** @param sizeHint expected number of bytes; 0: unknown */
  constructor(sizeHint = 0) {
    this.#bytes = Buffer.allocUnsafe(sizeHint === 0 ? FIRST_SIZE : sizeHint) as WritingBuffer;
    this.#at = this.#bytes.length;
  }

  /** The number of written bytes; the difference of two values is the length of what was written in between. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  /** A view of the written bytes; the writer cannot be used afterwards. */
  finish(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  uint32(value: number): void {
    if (value < 0x80 && this.#at > 0) {
      this.#bytes[--this.#at] = value;
      return;
    }
    this.#varint(value, 0);
  }

  /** Negative numbers take ten bytes: the format extends their sign to 64 bits. */
  int32(value: number): void {
    if (value >= 0) this.uint32(value);
    else this.#varint(value >>> 0, 0xffffffff);
  }

  /** @param value signed or unsigned: both have the same 64 bits */
  int64(value: bigint | number): void {
    if (typeof value === "number" && value >= 0 && value <= 0xffffffff) {
      this.uint32(value);
      return;
    }
    signed[0] = BigInt(value);
    this.#varint(halves[0] as number, halves[1] as number);
  }

  #varint(low: number, high: number): void {
    const size = varintSize(low, high);
    this.#reserve(size);
    const bytes = this.#bytes;
    let at = this.#at - size;
    this.#at = at;
    let rest = low >>> 0;
    let above = high >>> 0;
    for (let i = 1; i < size; i++) {
      bytes[at++] = (rest & 0x7f) | 0x80;
      rest = ((rest >>> 7) | (above << 25)) >>> 0;
      above >>>= 7;
    }
    bytes[at] = rest & 0x7f;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** Writes a text, preceded by its length. */
  string(text: string): void {
    const before = this.length;
    if (text.length > SHORT_TEXT || !this.#shortAscii(text)) {
      const length = Buffer.byteLength(text);
      this.#reserve(length);
      this.#at -= length;
      this.#bytes.utf8Write(text, this.#at, length);
    }
    this.uint32(this.length - before);
  }

  /** @returns false without writing when the text contains a non-ASCII character */
  #shortAscii(text: string): boolean {
    this.#reserve(text.length);
    const bytes = this.#bytes;
    const start = this.#at - text.length;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x80) return false;
      bytes[start + i] = code;
    }
    this.#at = start;
    return true;
  }

  /** Writes bytes, preceded by their length. */
  bytes(value: Uint8Array): void {
    this.raw(value);
    this.uint32(value.length);
  }

  /** Writes bytes without a length. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#at -= value.length;
    this.#bytes.set(value, this.#at);
  }

  varintField(number: number, value: bigint | number): void {
    this.int64(value);
    this.uint32((number << 3) | VARINT);
  }

  textField(number: number, text: string): void {
    this.string(text);
    this.uint32((number << 3) | BYTES);
  }

  /** @param fill writes the field's content, the last part first */
  field(number: number, fill: () => void): void {
    const before = this.length;
    fill();
    this.uint32(this.length - before);
    this.uint32((number << 3) | BYTES);
  }

  #reserve(count: number): void {
    if (this.#at >= count) return;
    const length = this.length;
    const larger = Buffer.allocUnsafeSlow((this.#bytes.length + count) * 2) as WritingBuffer;
    this.#bytes.copy(larger, larger.length - length, this.#at);
    this.#bytes = larger;
    this.#at = larger.length - length;
  }
}

function varintSize(low: number, high: number): number {
  if (high === 0) return low < 0x80 ? 1 : low < 0x4000 ? 2 : low < 0x200000 ? 3 : low < 0x10000000 ? 4 : 5;
  const top = high >>> 0;
  return top < 0x8 ? 5 : top < 0x400 ? 6 : top < 0x20000 ? 7 : top < 0x1000000 ? 8 : top < 0x80000000 ? 9 : 10;
}
