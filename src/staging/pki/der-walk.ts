import asn1 from "node-forge/lib/asn1.js";
import { rfc3339 } from "../apimachinery/time.js";
import {
  contentOf,
  DerError,
  type DerHeader,
  type DerNode,
  expectEnd,
  isUniversal,
  MAX_DEPTH,
  oidOf,
  readDer,
  readHeader,
  stringOf,
  Tag,
  timeMs,
} from "./der.js";
import { oidName } from "./oids.js";

/** One value of a DER document, with its meaning there. */
export interface DerRow {
  /** of its first byte in the document */
  readonly offset: number;
  /** bytes of tag and length */
  readonly headerLength: number;
  /** bytes of content */
  readonly length: number;
  /** 0 for the outermost value */
  readonly depth: number;
  /** `SEQUENCE`, `OID`, `[0]` */
  readonly tag: string;
  /** its meaning, then its value: `version: 2 (v3)`; can contain any text of the document */
  readonly meaning: string;
}

/** The meaning of a value at one place in a structure. Everything is optional: an unknown place is shown by its tag alone. */
export interface Shape {
  readonly label?: string;
  /** the text for a primitive; default: by its tag */
  readonly value?: (node: DerNode) => string;
  /** shown for a constructed value without children */
  readonly empty?: string;
  /** the shape of the child at `index`; `before` are the children to its left */
  readonly inside?: (index: number, child: DerNode, before: readonly DerNode[]) => Shape | undefined;
  /** an OCTET STRING or BIT STRING whose content is DER again */
  readonly wraps?: boolean;
}

export interface DerWalk {
  readonly rows: readonly DerRow[];
  /** where and why reading ended early; undefined for a sound document */
  readonly problem?: { readonly offset: number; readonly message: string };
}

/**
 * Lists the values of a DER document with their offsets, also of a damaged document up to the damage.
 *
 * node-forge keeps no offsets, and refuses a damaged document as a whole: the walk reads the headers, node-forge the values.
 */
export function walkDer(der: Buffer, shape: Shape = {}): DerWalk {
  const rows: DerRow[] = [];
  try {
    const outer = placeOf(der, 0, Number.POSITIVE_INFINITY);
    visit(der, outer, shape, 0, rows);
    expectEnd(readDer(der), der);
    return { rows };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { rows, problem: { offset: error.offset, message: error.message } };
  }
}

/** A value and its place in the document. The children of a constructed one are added when they are visited. */
interface Place {
  readonly offset: number;
  readonly header: DerHeader;
  readonly node: DerNode;
}

/** @param end of the value around it */
function placeOf(der: Buffer, offset: number, end: number): Place {
  const header = readHeader(der, offset);
  const { tagClass, type, constructed, headerLength, contentLength } = header;
  const next = offset + headerLength + contentLength;
  if (constructed && next <= end) return { offset, header, node: asn1.create(tagClass, type, true, []) };
  if (next > Math.min(end, der.length)) throw new DerError("asn1: syntax error: data truncated", offset);
  return { offset, header, node: readDer(der.subarray(offset, next), offset) };
}

function visit(der: Buffer, { offset, header, node }: Place, shape: Shape, depth: number, rows: DerRow[]): void {
  if (depth > MAX_DEPTH) throw new DerError("asn1: structure error: nested too deeply", offset);
  const { headerLength, contentLength } = header;
  const value = node.constructed ? (contentLength === 0 ? shape.empty : undefined) : valueText(node, shape);
  const meaning = [shape.label, value].filter((part) => part !== undefined && part !== "").join(": ");
  rows.push({ offset, headerLength, length: contentLength, depth, tag: tagName(node), meaning });
  if (!node.constructed && shape.wraps !== true) return;
  const children: DerNode[] = [];
  if (node.constructed) node.value = children;
  const end = offset + headerLength + contentLength;
  // The first byte of a BIT STRING counts unused bits; what it wraps begins after it.
  let next = offset + headerLength + (isUniversal(node, Tag.BITSTRING) ? 1 : 0);
  while (next < end) {
    const child = placeOf(der, next, end);
    visit(der, child, shape.inside?.(children.length, child.node, children) ?? {}, depth + 1, rows);
    children.push(child.node);
    next = child.offset + child.header.headerLength + child.header.contentLength;
  }
}

/** The text for a primitive; "" for a string that wraps other values. */
function valueText(node: DerNode, shape: Shape): string {
  return shape.value?.(node) ?? (shape.wraps === true ? "" : plainValue(node));
}

const TAG_NAMES: Readonly<Record<number, string>> = {
  [Tag.BOOLEAN]: "BOOLEAN",
  [Tag.INTEGER]: "INTEGER",
  [Tag.BITSTRING]: "BIT STRING",
  [Tag.OCTETSTRING]: "OCTET STRING",
  [Tag.NULL]: "NULL",
  [Tag.OID]: "OID",
  [Tag.UTF8]: "UTF8String",
  [Tag.SEQUENCE]: "SEQUENCE",
  [Tag.SET]: "SET",
  [Tag.PRINTABLESTRING]: "PrintableString",
  [Tag.T61STRING]: "T61String",
  [Tag.IA5STRING]: "IA5String",
  [Tag.UTCTIME]: "UTCTime",
  [Tag.GENERALIZEDTIME]: "GeneralizedTime",
  [Tag.UNIVERSALSTRING]: "UniversalString",
  [Tag.BMPSTRING]: "BMPString",
};

function tagName({ tagClass, type }: DerNode): string {
  switch (tagClass) {
    case asn1.Class.UNIVERSAL:
      return TAG_NAMES[type] ?? `UNIVERSAL ${type}`;
    case asn1.Class.CONTEXT_SPECIFIC:
      return `[${type}]`;
    default:
      return `[${tagClass === asn1.Class.APPLICATION ? "APPLICATION" : "PRIVATE"} ${type}]`;
  }
}

/** The text for a primitive by its tag. */
function plainValue(node: DerNode): string {
  const content = contentOf(node);
  if (node.tagClass !== asn1.Class.UNIVERSAL) return hexValue(content);
  const text = stringOf(node);
  if (text !== undefined) return JSON.stringify(text);
  switch (node.type) {
    case Tag.BOOLEAN:
      return content[0] === 0 ? "FALSE" : "TRUE";
    case Tag.INTEGER:
      return integerValue(content);
    case Tag.OID:
      return oidValue(node);
    case Tag.UTCTIME:
    case Tag.GENERALIZEDTIME:
      return timeValue(node);
    case Tag.BITSTRING:
      return hexValue(content.subarray(1));
    default:
      return hexValue(content);
  }
}

function oidValue(node: DerNode): string {
  const dotted = oidOf(node);
  const name = oidName(dotted);
  return name === undefined ? dotted : `${name} (${dotted})`;
}

function timeValue(node: DerNode): string {
  const ms = timeMs(node);
  return ms === undefined ? JSON.stringify(node.value) : rfc3339(ms);
}

/** Small numbers in decimal, others by their first bytes. */
function integerValue(content: Buffer): string {
  if (content.length > 4) return hexValue(content);
  return content.length === 0 ? "0" : String(content.readIntBE(0, content.length));
}

const SHOWN_BYTES = 20;

/** `0883432e…` with the number of bytes when not all are shown. */
export function hexValue(bytes: Buffer): string {
  if (bytes.length === 0) return "";
  if (bytes.length <= SHOWN_BYTES) return bytes.toString("hex");
  return `${bytes.subarray(0, 8).toString("hex")}… (${bytes.length} bytes)`;
}
