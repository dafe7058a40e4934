import { Encoded } from "./fields.js";

const BYTES_WIRE_TYPE = 2;

/**
 * A message whose only field is a list of messages that were encoded before: a list of ten thousand is one allocation and
 * one copy of each.
 * @param fieldNumber at most 15: then its tag is one byte
 */
export function encodedList(fieldNumber: number, items: readonly Encoded[]): Encoded {
  let size = 0;
  for (const { bytes } of items) size += 1 + varintSize(bytes.length) + bytes.length;
  const out = Buffer.allocUnsafe(size);
  const tag = (fieldNumber << 3) | BYTES_WIRE_TYPE;
  let at = 0;
  for (const { bytes } of items) {
    out[at++] = tag;
    let length = bytes.length;
    for (; length > 0x7f; length >>>= 7) out[at++] = (length & 0x7f) | 0x80;
    out[at++] = length;
    out.set(bytes, at);
    at += bytes.length;
  }
  return new Encoded(out);
}

function varintSize(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : 4;
}
