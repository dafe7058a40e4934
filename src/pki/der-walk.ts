import { DerError, type DerNode, oidText, readDer, stringValue, Tag, timeMs } from "./der.js";
import { oidName } from "./oids.js";

/** One value of a DER document, with what it means there. */
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
  /** what it is, then its value: `version: 2 (v3)`; may hold any text that the document holds */
  readonly meaning: string;
}

/** What a value at some place in a structure is. All of it is optional: an unknown place is shown by its tag alone. */
export interface Shape {
  readonly label?: string;
  /** the value in words; default: by its tag */
  readonly value?: (node: DerNode) => string;
  /** the shape of the child at `index`; `before` are the children that stand before it */
  readonly inside?: (index: number, child: DerNode, before: readonly DerNode[]) => Shape | undefined;
  /** an OCTET STRING or BIT STRING whose content is DER again */
  readonly wraps?: boolean;
}

export interface DerWalk {
  readonly rows: readonly DerRow[];
  /** where and why reading ended early; undefined for a sound document */
  readonly problem?: { readonly offset: number; readonly message: string };
}

/** Deeper nesting than any X.509 structure has: beyond it, a document is an attack on its reader. */
const MAX_DEPTH = 32;

/** Reads a DER document value by value, and as far as it can be read. */
export function walkDer(der: Buffer, shape: Shape = {}): DerWalk {
  const rows: DerRow[] = [];
  try {
    const outer = readDer(der);
    visit(outer, shape, 0, rows);
    const rest = der.length - outer.whole.length;
    if (rest > 0) throw new DerError(`${rest} bytes follow after the end`, outer.whole.length);
    return { rows };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { rows, problem: { offset: error.offset, message: error.message } };
  }
}

function visit(node: DerNode, shape: Shape, depth: number, rows: DerRow[]): void {
  const { offset, headerLength, content } = node;
  if (depth > MAX_DEPTH) throw new DerError("nested too deeply", offset);
  const isOpened = node.constructed || shape.wraps === true;
  const value = shape.value?.(node) ?? (isOpened ? undefined : plainValue(node));
  const meaning = [shape.label, value].filter((part) => part !== undefined && part !== "").join(": ");
  rows.push({ offset, headerLength, length: content.length, depth, tag: tagName(node), meaning });
  if (!isOpened) return;
  const before: DerNode[] = [];
  // A broken child must not hide the sound ones before it: each is shown before the next is read.
  for (const child of childrenOf(node)) {
    visit(child, shape.inside?.(before.length, child, before) ?? {}, depth + 1, rows);
    before.push(child);
  }
}

function* childrenOf(node: DerNode): Generator<DerNode> {
  const base = node.offset + node.headerLength;
  // A BIT STRING's first byte counts unused bits: what it wraps begins after that.
  let offset = !node.constructed && node.tag === Tag.BIT_STRING ? 1 : 0;
  while (offset < node.content.length) {
    const child = readDer(node.content, offset, base);
    yield child;
    offset += child.whole.length;
  }
}

const TAG_NAMES: Readonly<Record<number, string>> = {
  [Tag.BOOLEAN]: "BOOLEAN",
  [Tag.INTEGER]: "INTEGER",
  [Tag.BIT_STRING]: "BIT STRING",
  [Tag.OCTET_STRING]: "OCTET STRING",
  [Tag.NULL]: "NULL",
  [Tag.OID]: "OID",
  [Tag.UTF8_STRING]: "UTF8String",
  [Tag.SEQUENCE]: "SEQUENCE",
  [Tag.SET]: "SET",
  [Tag.PRINTABLE_STRING]: "PrintableString",
  [Tag.T61_STRING]: "T61String",
  [Tag.IA5_STRING]: "IA5String",
  [Tag.UTC_TIME]: "UTCTime",
  [Tag.GENERALIZED_TIME]: "GeneralizedTime",
  [Tag.UNIVERSAL_STRING]: "UniversalString",
  [Tag.BMP_STRING]: "BMPString",
};

function tagName({ tagClass, tag }: DerNode): string {
  if (tagClass === "universal") return TAG_NAMES[tag] ?? `UNIVERSAL ${tag}`;
  return tagClass === "context" ? `[${tag}]` : `[${tagClass.toUpperCase()} ${tag}]`;
}

/** The value of a primitive in words. */
function plainValue(node: DerNode): string {
  if (node.tagClass !== "universal") return hexValue(node.content);
  const text = stringValue(node);
  if (text !== undefined) return JSON.stringify(text);
  switch (node.tag) {
    case Tag.BOOLEAN:
      return node.content[0] === 0 ? "FALSE" : "TRUE";
    case Tag.INTEGER:
      return integerValue(node.content);
    case Tag.NULL:
      return "";
    case Tag.OID:
      return oidValue(node);
    case Tag.UTC_TIME:
    case Tag.GENERALIZED_TIME:
      return timeValue(node);
    case Tag.BIT_STRING:
      return hexValue(node.content.subarray(1));
    default:
      return hexValue(node.content);
  }
}

function oidValue(node: DerNode): string {
  const dotted = oidText(node.content);
  const name = oidName(dotted);
  return name === undefined ? dotted : `${name} (${dotted})`;
}

function timeValue(node: DerNode): string {
  const ms = timeMs(node);
  return ms === undefined
    ? JSON.stringify(node.content.toString("latin1"))
    : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Small numbers as numbers, big ones by their first bytes. */
function integerValue(content: Buffer): string {
  if (content.length > 4) return hexValue(content);
  return content.length === 0 ? "0" : String(content.readIntBE(0, content.length));
}

const SHOWN_BYTES = 20;

/** `0883432e…` with the count of bytes when not all are shown. */
export function hexValue(bytes: Buffer): string {
  if (bytes.length === 0) return "";
  if (bytes.length <= SHOWN_BYTES) return bytes.toString("hex");
  return `${bytes.subarray(0, 8).toString("hex")}… (${bytes.length} bytes)`;
}
