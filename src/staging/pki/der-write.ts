import asn1 from "node-forge/lib/asn1.js";
import { type DerNode, encodeDer, Tag } from "./der.js";

/** Creates ASN.1 values with node-forge; `encodeDer` gives their bytes. */

const { UNIVERSAL, CONTEXT_SPECIFIC } = asn1.Class;

const primitive = (type: number, content: string): DerNode => asn1.create(UNIVERSAL, type, false, content);
const latin1 = (bytes: Buffer) => bytes.toString("latin1");

/** SEQUENCE */
export function sequence(...parts: readonly DerNode[]): DerNode {
  return asn1.create(UNIVERSAL, Tag.SEQUENCE, true, [...parts]);
}

/** SET OF: DER sorts the elements by their bytes. */
export function setOf(...parts: readonly DerNode[]): DerNode {
  const sorted = [...parts].sort((a, b) => Buffer.compare(encodeDer(a), encodeDer(b)));
  return asn1.create(UNIVERSAL, Tag.SET, true, sorted);
}

/** `[tag]` around other values: EXPLICIT tagging, or an IMPLICIT one of a SEQUENCE or SET. */
export function context(tag: number, ...parts: readonly DerNode[]): DerNode {
  return asn1.create(CONTEXT_SPECIFIC, tag, true, [...parts]);
}

/** `[tag]` IMPLICIT over a string. */
export function contextString(tag: number, content: Buffer): DerNode {
  return asn1.create(CONTEXT_SPECIFIC, tag, false, latin1(content));
}

/** BOOLEAN */
export function boolean(value: boolean): DerNode {
  return primitive(Tag.BOOLEAN, value ? "\xff" : "\0");
}

/** A non-negative INTEGER in its shortest form, from a number or from big-endian bytes. */
export function integer(value: number | Buffer): DerNode {
  if (typeof value === "number") return primitive(Tag.INTEGER, asn1.integerToDer(value).getBytes());
  // A first byte that would make the number negative gets a zero byte in front.
  const digits = latin1(value).replace(/^\0+/, "");
  return primitive(Tag.INTEGER, /^[\0-\x7f]/.test(digits) ? digits : `\0${digits}`);
}

/** NULL */
export function nullValue(): DerNode {
  return primitive(Tag.NULL, "");
}

/** OBJECT IDENTIFIER of a dotted text: `2.5.4.3`. */
export function oid(dotted: string): DerNode {
  return primitive(Tag.OID, asn1.oidToDer(dotted).getBytes());
}

/** OCTET STRING */
export function octetString(content: Buffer): DerNode {
  return primitive(Tag.OCTETSTRING, latin1(content));
}

/** BIT STRING. @param unusedBits the number of unused bits in the last byte */
export function bitString(content: Buffer, unusedBits = 0): DerNode {
  return primitive(Tag.BITSTRING, String.fromCharCode(unusedBits) + latin1(content));
}

/**
 * PrintableString when its characters allow it, UTF8String otherwise, as Go's encoding/asn1 encodes a string.
 * `*` and `&` count as not printable.
 */
export function directoryString(text: string): DerNode {
  const isPrintable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text);
  return primitive(isPrintable ? Tag.PRINTABLESTRING : Tag.UTF8, latin1(Buffer.from(text, "utf8")));
}

/** UTCTime up to the year 2049, GeneralizedTime from 2050 on; milliseconds are cut off. */
export function time(unixMs: number): DerNode {
  const date = new Date(unixMs);
  const year = date.getUTCFullYear();
  return year >= 1950 && year < 2050
    ? primitive(Tag.UTCTIME, asn1.dateToUtcTime(date))
    : primitive(Tag.GENERALIZEDTIME, asn1.dateToGeneralizedTime(date));
}
