/** One entry of a tar archive. */
export interface TarEntry {
  readonly name: string;
  readonly type: "file" | "directory" | "symlink" | "link" | "device" | "other";
  /** permission bits */
  readonly mode: number;
  /** bytes of content */
  readonly size: number;
  /** Unix ms */
  readonly mtimeMs: number;
  /** where a link leads; "" for all else */
  readonly target: string;
}

export const BLOCK_BYTES = 512;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

const TYPE_FLAGS = { file: "0", link: "1", symlink: "2", device: "3", directory: "5" } as const;
const TYPES: Readonly<Record<string, TarEntry["type"]>> = {
  "\0": "file",
  "0": "file",
  "7": "file",
  "1": "link",
  "2": "symlink",
  "3": "device",
  "4": "device",
  "5": "directory",
};
/** GNU's entries whose content is the next entry's name, or the target of its link. */
const LONG_NAME = "L";
const LONG_TARGET = "K";

/** An archive that cannot be read, in the words that tar prints. */
export class TarError extends Error {
  override readonly name = "TarError";
}

/** The head of an entry: one block, or more for long names, in GNU's way as busybox writes them. */
export function entryHead(entry: TarEntry): Buffer {
  const parts: Buffer[] = [];
  const name = Buffer.from(entry.name);
  const target = Buffer.from(entry.target);
  if (target.length > NAME_BYTES) parts.push(longText(LONG_TARGET, target));
  const split = name.length <= NAME_BYTES ? 0 : splitAt(name);
  if (split < 0) parts.push(longText(LONG_NAME, name));
  const prefix = split > 0 ? name.subarray(0, split) : Buffer.alloc(0);
  const rest = split > 0 ? name.subarray(split + 1) : name;
  const flag = entry.type === "other" ? "0" : TYPE_FLAGS[entry.type];
  parts.push(block({ ...entry, name: rest, prefix, target, flag }));
  return Buffer.concat(parts);
}

/** Where the ustar format may cut a long name in two: at a slash. @returns -1 when there is none */
function splitAt(name: Buffer): number {
  for (let at = Math.min(PREFIX_BYTES, name.length - 2); at > 0 && name.length - at - 1 <= NAME_BYTES; at--) {
    if (name[at] === 0x2f) return at;
  }
  return -1;
}

function longText(flag: string, text: Buffer): Buffer {
  const content = Buffer.concat([text, Buffer.alloc(1)]);
  const name = Buffer.from("././@LongLink");
  const none = Buffer.alloc(0);
  const head = block({ name, prefix: none, target: none, flag, mode: 0o644, size: content.length, mtimeMs: 0 });
  return Buffer.concat([head, content, padding(content.length)]);
}

interface BlockFields extends Pick<TarEntry, "mode" | "size" | "mtimeMs"> {
  readonly name: Buffer;
  readonly prefix: Buffer;
  readonly target: Buffer;
  readonly flag: string;
}

function block({ name, prefix, target, flag, mode, size, mtimeMs }: BlockFields): Buffer {
  const head = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, width: number) =>
    head.write(
      `${Math.max(0, value)
        .toString(8)
        .padStart(width - 1, "0")}\0`,
      at,
      "latin1",
    );
  name.copy(head, 0, 0, NAME_BYTES);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(Math.floor(mtimeMs / 1000), 136, 12);
  head.write(flag, 156, "latin1");
  target.copy(head, 157, 0, NAME_BYTES);
  head.write("ustar  \0", 257, "latin1");
  head.write("root", 265, "latin1");
  head.write("root", 297, "latin1");
  if (prefix.length > 0) {
    head.write("ustar\x0000", 257, "latin1");
    prefix.copy(head, 345, 0, PREFIX_BYTES);
  }
  head.write(`${checksum(head).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return head;
}

/** With the sum's own place counted as blanks. */
function checksum(head: Buffer): number {
  let sum = 8 * 0x20;
  for (let at = 0; at < BLOCK_BYTES; at++) if (at < 148 || at >= 156) sum += head[at] as number;
  return sum;
}

/** What follows a content up to the next block. */
export function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);
}

/** A head as it is in one block, before what came before it is taken into account. */
export interface RawHead {
  readonly flag: string;
  readonly entry: TarEntry;
}

/** @returns undefined for a block of zeros: the archive's end @throws TarError for what is no head */
export function parseHead(head: Buffer): RawHead | undefined {
  if (head.every((byte) => byte === 0)) return undefined;
  if (number(head, 148, 8) !== checksum(head)) throw new TarError("invalid tar header checksum");
  const flag = head.toString("latin1", 156, 157);
  const isUstar = head.toString("latin1", 257, 263) === "ustar\0";
  const prefix = isUstar ? text(head, 345, PREFIX_BYTES) : "";
  const base = text(head, 0, NAME_BYTES);
  const name = prefix === "" ? base : `${prefix}/${base}`;
  const type = TYPES[flag] ?? "other";
  const size = number(head, 124, 12);
  const entry: TarEntry = {
    name,
    // Of before ustar: a folder is a file whose name ends with a slash.
    type: type === "file" && name.endsWith("/") ? "directory" : type,
    mode: number(head, 100, 8) & 0o7777,
    size: type === "file" || type === "other" ? size : 0,
    mtimeMs: number(head, 136, 12) * 1000,
    target: type === "symlink" || type === "link" ? text(head, 157, NAME_BYTES) : "",
  };
  return { flag, entry };
}

function text(head: Buffer, at: number, length: number): string {
  const end = head.indexOf(0, at);
  return head.toString("utf8", at, end < 0 || end > at + length ? at + length : end);
}

/** Octal digits, or GNU's binary for what they have no room for. */
function number(head: Buffer, at: number, length: number): number {
  if (((head[at] as number) & 0x80) !== 0) {
    let value = (head[at] as number) & 0x7f;
    for (let index = at + 1; index < at + length; index++) value = value * 256 + (head[index] as number);
    return value;
  }
  const digits = head
    .toString("latin1", at, at + length)
    .replaceAll("\0", " ")
    .trim();
  if (!/^[0-7]*$/.test(digits)) throw new TarError("invalid tar header");
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}

/** The records of a pax header: `30 path=some/name\n`. Mirrors POSIX pax, as Go's archive/tar writes it. */
export function paxRecords(content: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const blank = content.indexOf(0x20, at);
    const length = Number(content.toString("latin1", at, blank < 0 ? at : blank));
    if (blank < 0 || !Number.isInteger(length) || length < 5 || at + length > content.length) break;
    const record = content.toString("utf8", blank + 1, at + length - 1);
    const equals = record.indexOf("=");
    if (equals > 0) records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

export const FLAGS = { longName: LONG_NAME, longTarget: LONG_TARGET, pax: "x", globalPax: "g" } as const;
