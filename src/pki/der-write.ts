import { Tag } from "./der.js";

/** One value with any identifier byte (class, constructed bit and a tag below 31 together). */
export function derValue(identifier: number, content: Buffer): Buffer {
  const length = content.length;
  if (length < 0x80) return Buffer.concat([Buffer.from([identifier, length]), content]);
  const lengthBytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) lengthBytes.unshift(rest % 256);
  return Buffer.concat([Buffer.from([identifier, 0x80 | lengthBytes.length, ...lengthBytes]), content]);
}

const CONSTRUCTED = 0x20;
const CONTEXT = 0x80;

/** SEQUENCE of parts that are DER values already. */
export function sequence(...parts: readonly Buffer[]): Buffer {
  return derValue(CONSTRUCTED | Tag.SEQUENCE, Buffer.concat(parts));
}

/** SET OF: DER wants its elements in the order of their bytes. */
export function setOf(...parts: readonly Buffer[]): Buffer {
  return derValue(CONSTRUCTED | Tag.SET, Buffer.concat([...parts].sort(Buffer.compare)));
}

/** `[tag]` around other values: EXPLICIT tagging, or an IMPLICIT one of a SEQUENCE or SET. */
export function context(tag: number, ...parts: readonly Buffer[]): Buffer {
  return derValue(CONTEXT | CONSTRUCTED | tag, Buffer.concat(parts));
}

/** `[tag]` IMPLICIT over a string. */
export function contextString(tag: number, content: Buffer): Buffer {
  return derValue(CONTEXT | tag, content);
}

/** BOOLEAN */
export function boolean(value: boolean): Buffer {
  return derValue(Tag.BOOLEAN, Buffer.from([value ? 0xff : 0]));
}

/** A non-negative INTEGER; leading zeros go, and one comes back where the top bit would make it negative. */
export function integer(value: number | Buffer): Buffer {
  const bytes = typeof value === "number" ? integerBytes(value) : value;
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const minimal = bytes.subarray(start);
  const first = minimal[0];
  if (first === undefined) return derValue(Tag.INTEGER, Buffer.from([0]));
  return derValue(Tag.INTEGER, first < 0x80 ? minimal : Buffer.concat([Buffer.from([0]), minimal]));
}

function integerBytes(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from(bytes);
}

/** NULL */
export function nullValue(): Buffer {
  return derValue(Tag.NULL, Buffer.alloc(0));
}

/** OBJECT IDENTIFIER of a dotted text: `2.5.4.3`. */
export function oid(dotted: string): Buffer {
  const [top = 0n, second = 0n, ...rest] = dotted.split(".").map(BigInt);
  const bytes: number[] = [];
  for (const arc of [top * 40n + second, ...rest]) {
    const digits = [Number(arc & 0x7fn)];
    for (let left = arc >> 7n; left > 0n; left >>= 7n) digits.unshift(Number(left & 0x7fn) | 0x80);
    bytes.push(...digits);
  }
  return derValue(Tag.OID, Buffer.from(bytes));
}

/** OCTET STRING */
export function octetString(content: Buffer): Buffer {
  return derValue(Tag.OCTET_STRING, content);
}

/** BIT STRING. @param unusedBits how many of the last byte do not count */
export function bitString(content: Buffer, unusedBits = 0): Buffer {
  return derValue(Tag.BIT_STRING, Buffer.concat([Buffer.from([unusedBits]), content]));
}

/**
 * PrintableString when its characters allow it, UTF8String otherwise: what Go's encoding/asn1 does with a string.
 * `*` and `&` count as not printable.
 */
export function directoryString(text: string): Buffer {
  const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text);
  return derValue(printable ? Tag.PRINTABLE_STRING : Tag.UTF8_STRING, Buffer.from(text, "utf8"));
}

/** UTCTime to the year 2049, GeneralizedTime from 2050 on; whole seconds, the rest is cut off. */
export function time(unixMs: number): Buffer {
  const iso = new Date(Math.floor(unixMs / 1000) * 1000).toISOString();
  const digits = `${iso.slice(0, 19).replace(/[-T:]/g, "")}Z`;
  const year = Number(iso.slice(0, 4));
  return year >= 1950 && year < 2050
    ? derValue(Tag.UTC_TIME, Buffer.from(digits.slice(2)))
    : derValue(Tag.GENERALIZED_TIME, Buffer.from(digits));
}
