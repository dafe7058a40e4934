/** The parts of protobuf's wire format that Kubernetes' messages use. */

const VARINT = 0;
const FIXED64 = 1;
export const BYTES = 2;
const FIXED32 = 5;

/** The bytes end in the middle of a value or are invalid. The messages are those of Go's decoders. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

export class WireReader {
  #at = 0;
  constructor(readonly bytes: Buffer) {}

  get isAtEnd(): boolean {
    return this.#at >= this.bytes.length;
  }

  /** The next field's number and wire type. */
  tag(): { readonly number: number; readonly wireType: number } {
    const tag = Number(this.varint());
    if (tag >>> 3 === 0) throw new ProtobufError(`proto: illegal tag 0 (wire type ${tag})`);
    return { number: tag >>> 3, wireType: tag & 7 };
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.#at++];
      if (byte === undefined) throw new ProtobufError("unexpected EOF");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new ProtobufError("proto: integer overflow");
  }

  /** @returns a view, not a copy */
  chunk(): Buffer {
    const length = Number(this.varint());
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.bytes.length) throw new ProtobufError("unexpected EOF");
    return this.bytes.subarray(start, this.#at);
  }

  skip(wireType: number): void {
    if (wireType === VARINT) this.varint();
    else if (wireType === BYTES) this.chunk();
    else if (wireType === FIXED64) this.#at += 8;
    else if (wireType === FIXED32) this.#at += 4;
    else throw new ProtobufError(`proto: illegal wireType ${wireType}`);
    if (this.#at > this.bytes.length) throw new ProtobufError("unexpected EOF");
  }
}

/** Collects the fields of one message; nested messages are completed before they are added. */
export class WireWriter {
  readonly #parts: Buffer[] = [];
  #length = 0;

  #push(part: Buffer): void {
    this.#parts.push(part);
    this.#length += part.length;
  }

  varintField(number: number, value: number | bigint): void {
    this.#push(varintBytes((BigInt(number) << 3n) | BigInt(VARINT)));
    this.#push(varintBytes(BigInt.asUintN(64, BigInt(value))));
  }

  bytesField(number: number, bytes: Buffer): void {
    this.#push(varintBytes((BigInt(number) << 3n) | BigInt(BYTES)));
    this.#push(varintBytes(BigInt(bytes.length)));
    this.#push(bytes);
  }

  textField(number: number, text: string): void {
    this.bytesField(number, Buffer.from(text));
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts, this.#length);
  }
}

function varintBytes(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
