import type { asn1 as forge } from "node-forge";
import asn1 from "node-forge/lib/asn1.js";
import util from "node-forge/lib/util.js";

/**
 * Reads DER, the byte form of everything in X.509, with node-forge. `der-write.ts` creates values.
 *
 * A value that was read encodes to the same bytes again, so each part of a document can be copied or verified by itself.
 */

/** One ASN.1 value: `value` is a list of children, or the content with one character per byte (per two in a BMPString). */
export type DerNode = forge.Asn1;

/** Universal tag numbers (X.680). */
export const Tag = { ...asn1.Type, T61STRING: 20, UNIVERSALSTRING: 28 } as const;

/** More than any X.509 structure needs. The limits bound the work that a client's document can cause. */
export const MAX_DEPTH = 32;
const MAX_DER_BYTES = 131_072;

/** Bytes that are not DER, or not the expected structure. The texts are those of Go's encoding/asn1: clients see them. */
export class DerError extends Error {
  override readonly name = "DerError";
  constructor(
    message: string,
    /** of the problem, in the document that was read */
    readonly offset: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const TRUNCATED = "asn1: syntax error: truncated tag or length";
const INDEFINITE = "asn1: syntax error: indefinite length found (not DER)";
const TOO_LONG = "asn1: structure error: length too large";

/** Beginnings of node-forge's messages, and Go's texts for them. */
const GO_TEXTS: readonly (readonly [start: string, text: string])[] = [
  ["Too few bytes to parse DER", TRUNCATED],
  ["Too few bytes to read ASN.1 value", "asn1: syntax error: data truncated"],
  ["Non-constructed ASN.1 object of indefinite length", INDEFINITE],
  ["ASN.1 parsing error: Max depth exceeded", "asn1: structure error: nested too deeply"],
  ["Negative length", TOO_LONG],
  ["Only 8, 16, 24, or 32 bits supported", TOO_LONG],
  ["OID value too large", "asn1: structure error: base 128 integer too large"],
];

/**
 * Runs a function of node-forge.
 * @param offset of the problem where the error has no place
 * @throws DerError in place of node-forge's errors
 */
function withGoTexts<T>(offset: number, byteCount: number, call: () => T): T {
  try {
    return call();
  } catch (cause) {
    const { message, available } = cause as Error & { readonly available?: number };
    const text = GO_TEXTS.find(([start]) => message.startsWith(start))?.[1] ?? `asn1: structure error: ${message}`;
    throw new DerError(text, available === undefined ? offset : byteCount - available, { cause });
  }
}

/**
 * Reads the value at the beginning of `bytes`; see `expectEnd` for what may follow it.
 *
 * Differs: encoding/asn1 checks each length; here the value is encoded again, which must give the same bytes.
 * @param base offset of `bytes` in the whole document, for errors
 * @throws DerError
 */
export function readDer(bytes: Buffer, base = 0): DerNode {
  if (bytes.length === 0) throw new DerError("asn1: syntax error: sequence truncated", base);
  if (bytes.length > MAX_DER_BYTES) {
    throw new DerError(`asn1: structure error: longer than ${MAX_DER_BYTES} bytes`, base + MAX_DER_BYTES);
  }
  const options = { strict: true, parseAllBytes: false, decodeBitStrings: false, maxDepth: MAX_DEPTH + 1 };
  const node = withGoTexts(base, base + bytes.length, () => asn1.fromDer(bytes.toString("latin1"), options));
  const encoded = encodeDer(node);
  if (!bytes.subarray(0, encoded.length).equals(encoded)) {
    const offset = encoded.findIndex((byte, index) => byte !== bytes[index]);
    throw new DerError("asn1: structure error: a length or an integer is not minimal (not DER)", base + offset);
  }
  return node;
}

/** The bytes of a value: tag, length and content. */
export function encodeDer(node: DerNode): Buffer {
  return Buffer.from(asn1.toDer(node).getBytes(), "latin1");
}

/** @throws DerError when bytes follow the value in the document that it was read from */
export function expectEnd(node: DerNode, bytes: Buffer): void {
  const { length } = encodeDer(node);
  if (length !== bytes.length) throw new DerError("asn1: syntax error: trailing data", length);
}

/** Tag and length of one value. */
export interface DerHeader {
  readonly tagClass: forge.Class;
  readonly type: number;
  readonly constructed: boolean;
  readonly headerLength: number;
  readonly contentLength: number;
}

/**
 * Reads the tag and the length at `offset` and nothing else: for documents that node-forge refuses as a whole.
 * @throws DerError
 */
export function readHeader(bytes: Buffer, offset: number): DerHeader {
  const first = bytes[offset];
  const length = bytes.subarray(offset + 1, offset + 6);
  const lengthBytes = (length[0] ?? 0) > 0x80 ? (length[0] ?? 0) - 0x7f : 1;
  if (first === undefined || length.length < Math.min(lengthBytes, 5)) throw new DerError(TRUNCATED, offset);
  const contentLength = withGoTexts(offset, 0, () =>
    asn1.getBerValueLength(util.createBuffer(length.toString("latin1"))),
  );
  if (contentLength === undefined) throw new DerError(INDEFINITE, offset);
  if (contentLength < 0) throw new DerError(TOO_LONG, offset);
  return {
    tagClass: first & 0xc0,
    type: first & 0x1f,
    constructed: (first & 0x20) !== 0,
    headerLength: 1 + lengthBytes,
    contentLength,
  };
}

/** The children of a constructed value; an empty list for a primitive. */
export function childrenOf(node: DerNode | undefined): readonly DerNode[] {
  return Array.isArray(node?.value) ? node.value : [];
}

/** The content of a primitive, one character per byte; "" for a constructed value. */
export function latin1Of(node: DerNode): string {
  return typeof node.value === "string" ? node.value : "";
}

/** The content of a primitive. */
export function contentOf(node: DerNode): Buffer {
  if (node.type === Tag.BMPSTRING) return Buffer.from(latin1Of(node), "utf16le").swap16();
  return Buffer.from(latin1Of(node), "latin1");
}

/** True for a value with this universal tag. In DER, SEQUENCE and SET are constructed and the others are not. */
export function isUniversal(node: DerNode | undefined, type: number): node is DerNode {
  if (node === undefined || node.tagClass !== asn1.Class.UNIVERSAL || node.type !== type) return false;
  return node.constructed === (type === Tag.SEQUENCE || type === Tag.SET);
}

/** True for `[tag]`, implicit or explicit. */
export function isContext(node: DerNode | undefined, tag: number): node is DerNode {
  return node !== undefined && node.tagClass === asn1.Class.CONTEXT_SPECIFIC && node.type === tag;
}

/**
 * The dotted form of an OBJECT IDENTIFIER: `1.2.840.10045.2.1`; "" for any other value.
 * @throws DerError for an arc over 53 bits (31 bits in Go)
 */
export function oidOf(node: DerNode | undefined): string {
  if (!isUniversal(node, Tag.OID)) return "";
  return withGoTexts(0, 0, () => asn1.derToOid(latin1Of(node))) ?? "";
}

/** Unix ms of a UTCTime or GeneralizedTime in the form that X.509 allows; undefined for any other value. */
export function timeMs(node: DerNode): number | undefined {
  const text = latin1Of(node);
  if (isUniversal(node, Tag.UTCTIME) && /^\d{12}Z$/.test(text)) return asn1.utcTimeToDate(text).getTime();
  if (isUniversal(node, Tag.GENERALIZEDTIME) && /^\d{14}Z$/.test(text)) {
    return asn1.generalizedTimeToDate(text).getTime();
  }
  return undefined;
}

/** The characters of any of the string types; undefined for other values. */
export function stringOf(node: DerNode): string | undefined {
  if (node.tagClass !== asn1.Class.UNIVERSAL || node.constructed) return undefined;
  const type: number = node.type;
  switch (type) {
    case Tag.UTF8:
      return contentOf(node).toString("utf8");
    case Tag.PRINTABLESTRING:
    case Tag.IA5STRING:
    case Tag.T61STRING:
    case Tag.BMPSTRING:
      return latin1Of(node);
    default:
      return undefined;
  }
}

/**
 * The bytes of a BIT STRING whose length is a multiple of eight: a key or a signature.
 * @throws DerError for any other
 */
export function bitStringBytes(node: DerNode): Buffer {
  const content = contentOf(node);
  if (content[0] !== 0) throw new DerError("asn1: syntax error: invalid padding bits in BIT STRING", 0);
  return content.subarray(1);
}
