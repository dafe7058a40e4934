/**
 * Reading and writing DER, the byte form of everything in X.509: each value is a tag, a length and its content.
 *
 * A small codec of our own rather than a library's, for two reasons: `csr inspect` needs the offset of every value, and
 * certificates must carry a request's public key byte for byte as it came.
 */

/** Universal tag numbers (X.680). */
export const Tag = {
  BOOLEAN: 1,
  INTEGER: 2,
  BIT_STRING: 3,
  OCTET_STRING: 4,
  NULL: 5,
  OID: 6,
  UTF8_STRING: 12,
  SEQUENCE: 16,
  SET: 17,
  PRINTABLE_STRING: 19,
  T61_STRING: 20,
  IA5_STRING: 22,
  UTC_TIME: 23,
  GENERALIZED_TIME: 24,
  UNIVERSAL_STRING: 28,
  BMP_STRING: 30,
} as const;

export type TagClass = "universal" | "application" | "context" | "private";
const TAG_CLASSES: readonly TagClass[] = ["universal", "application", "context", "private"];

/** One value inside a DER document. */
export interface DerNode {
  readonly tagClass: TagClass;
  readonly tag: number;
  readonly constructed: boolean;
  /** of the tag's first byte, from the beginning of the document that was read */
  readonly offset: number;
  /** bytes of tag and length together */
  readonly headerLength: number;
  readonly content: Buffer;
  /** header and content: what to copy when the value must stay unchanged */
  readonly whole: Buffer;
}

/** Bytes that are no DER, or not the structure that was expected. Texts are Go's (encoding/asn1): API servers pass them on. */
export class DerError extends Error {
  override readonly name = "DerError";
  constructor(
    message: string,
    /** where in the document it went wrong */
    readonly offset: number,
  ) {
    super(message);
  }
}

const syntaxError = (what: string, offset: number) => new DerError(`asn1: syntax error: ${what}`, offset);

/**
 * Reads one value at `offset`; what follows it is the caller's business.
 *
 * Strict as Go is: no indefinite lengths, no padded lengths.
 * @param base offset of `bytes` in the whole document, for `offset` and error places
 * @throws DerError
 */
export function readDer(bytes: Buffer, offset = 0, base = 0): DerNode {
  const place = base + offset;
  const first = bytes[offset];
  if (first === undefined) throw syntaxError("sequence truncated", place);
  let position = offset + 1;
  let tag = first & 0x1f;
  if (tag === 0x1f) {
    tag = 0;
    for (;;) {
      const byte = bytes[position++];
      if (byte === undefined) throw syntaxError("truncated base 128 integer", place);
      tag = tag * 128 + (byte & 0x7f);
      if (tag > 0x7fffffff) throw syntaxError("base 128 integer too large", place);
      if ((byte & 0x80) === 0) break;
    }
  }
  const { length, next } = readLength(bytes, position, place);
  if (next + length > bytes.length) throw syntaxError("data truncated", place);
  return {
    tagClass: TAG_CLASSES[first >> 6] ?? "universal",
    tag,
    constructed: (first & 0x20) !== 0,
    offset: place,
    headerLength: next - offset,
    content: bytes.subarray(next, next + length),
    whole: bytes.subarray(offset, next + length),
  };
}

function readLength(bytes: Buffer, start: number, place: number): { length: number; next: number } {
  const first = bytes[start];
  if (first === undefined) throw syntaxError("truncated tag or length", place);
  if (first < 0x80) return { length: first, next: start + 1 };
  const count = first & 0x7f;
  if (count === 0) throw syntaxError("indefinite length found (not DER)", place);
  if (count > 4) throw new DerError("asn1: structure error: length too large", place);
  let length = 0;
  for (let i = 0; i < count; i++) {
    const byte = bytes[start + 1 + i];
    if (byte === undefined) throw syntaxError("truncated tag or length", place);
    length = length * 256 + byte;
    if (length === 0) throw new DerError("asn1: structure error: superfluous leading zeros in length", place);
  }
  if (length < 0x80) throw new DerError("asn1: structure error: non-minimal length", place);
  return { length, next: start + 1 + count };
}

/** The values inside a constructed one (or inside a string whose content is DER itself). */
export function derChildren(node: DerNode): DerNode[] {
  const children: DerNode[] = [];
  const base = node.offset + node.headerLength;
  for (let offset = 0; offset < node.content.length; ) {
    const child = readDer(node.content, offset, base);
    children.push(child);
    offset += child.whole.length;
  }
  return children;
}

/** True for a value with this universal tag; SEQUENCE and SET must be constructed, the others must not (DER). */
export function isUniversal(node: DerNode | undefined, tag: number): node is DerNode {
  if (node === undefined || node.tagClass !== "universal" || node.tag !== tag) return false;
  return node.constructed === (tag === Tag.SEQUENCE || tag === Tag.SET);
}

/** True for `[tag]`, implicit or explicit. */
export function isContext(node: DerNode | undefined, tag: number): node is DerNode {
  return node !== undefined && node.tagClass === "context" && node.tag === tag;
}

/** An arc may hold a UUID (128 bits) and no more: numbers without end are work without end. */
const MAX_ARC_BYTES = 19;

/** The content of an OBJECT IDENTIFIER as `1.2.840.10045.2.1`. @throws DerError */
export function oidText(content: Buffer): string {
  const parts: bigint[] = [];
  let value = 0n;
  let first = true;
  let arcBytes = 0;
  for (const byte of content) {
    if (++arcBytes > MAX_ARC_BYTES) throw new DerError("asn1: structure error: base 128 integer too large", 0);
    value = (value << 7n) | BigInt(byte & 0x7f);
    if ((byte & 0x80) !== 0) continue;
    arcBytes = 0;
    if (first) {
      const top = value < 40n ? 0n : value < 80n ? 1n : 2n;
      parts.push(top, value - top * 40n);
      first = false;
    } else {
      parts.push(value);
    }
    value = 0n;
  }
  return parts.join(".");
}

/** Unix ms of a UTCTime or GeneralizedTime; undefined when the text is no such time. */
export function timeMs(node: DerNode): number | undefined {
  const match = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(node.content.toString("latin1"));
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  const isUtc = isUniversal(node, Tag.UTC_TIME);
  if (isUtc !== (match[1]?.length === 2)) return undefined;
  // X.509: two-digit years from 50 on belong to the last century.
  const fullYear = isUtc ? (year < 50 ? 2000 + year : 1900 + year) : year;
  return Date.UTC(fullYear, month - 1, day, hour, minute, second);
}

/** The characters of any of the string types; undefined for other values. */
export function stringValue(node: DerNode): string | undefined {
  if (node.tagClass !== "universal") return undefined;
  switch (node.tag) {
    case Tag.UTF8_STRING:
      return node.content.toString("utf8");
    case Tag.PRINTABLE_STRING:
    case Tag.IA5_STRING:
    case Tag.T61_STRING:
      return node.content.toString("latin1");
    case Tag.BMP_STRING:
      if (node.content.length % 2 !== 0) return undefined;
      return Buffer.from(node.content).swap16().toString("utf16le");
    default:
      return undefined;
  }
}

/**
 * The bytes of a BIT STRING whose length is a multiple of eight: keys and signatures.
 * @throws DerError for any other
 */
export function bitStringBytes(node: DerNode): Buffer {
  if (node.content[0] !== 0) throw syntaxError("invalid padding bits in BIT STRING", node.offset);
  return node.content.subarray(1);
}
