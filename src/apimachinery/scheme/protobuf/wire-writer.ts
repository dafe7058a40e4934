import { BYTES, VARINT } from "../../protobuf/reader.js";

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
