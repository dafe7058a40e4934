import type { Self } from "../../process/process.js";
import { fail, parseArgs, usage } from "../console.js";

const BYTES = Array.from({ length: 256 }, (_, byte) => byte);
const byChar = (pattern: RegExp) => BYTES.filter((byte) => byte < 0x80 && pattern.test(String.fromCharCode(byte)));

const CLASSES: ReadonlyMap<string, readonly number[]> = new Map([
  ["alnum", byChar(/[0-9A-Za-z]/)],
  ["alpha", byChar(/[A-Za-z]/)],
  ["blank", byChar(/[ \t]/)],
  ["cntrl", BYTES.filter((byte) => byte < 0x20 || byte === 0x7f)],
  ["digit", byChar(/[0-9]/)],
  ["graph", byChar(/[!-~]/)],
  ["lower", byChar(/[a-z]/)],
  ["print", byChar(/[ -~]/)],
  ["punct", byChar(/[!-/:-@[-`{-~]/)],
  ["space", byChar(/[\t-\r ]/)],
  ["upper", byChar(/[A-Z]/)],
  ["xdigit", byChar(/[0-9A-Fa-f]/)],
]);

const ESCAPES: ReadonlyMap<string, number> = new Map([
  ["a", 0x07],
  ["b", 0x08],
  ["e", 0x1b],
  ["f", 0x0c],
  ["n", 0x0a],
  ["r", 0x0d],
  ["t", 0x09],
  ["v", 0x0b],
  ["\\", 0x5c],
]);

/**
 * `tr [-cCds] SET1 [SET2]`: works on bytes as they arrive. A set has ranges, `[:class:]`, `[=x=]` and escapes, octal ones too.
 *
 * Mirrors coreutils/tr.c of busybox. A backslash before any other character is literal.
 */
export async function tr(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "+cCds");
  if (unknown !== undefined) return usage(self, unknown);
  const [text, text2] = rest;
  if (text === undefined) return usage(self);
  if (text2 === "") return fail(self, "STRING2 cannot be empty");
  const deletes = options.has("d");
  const first = options.has("c") || options.has("C") ? complement(expandSet(text)) : expandSet(text);
  const second = text2 === undefined ? undefined : expandSet(text2);
  const rules: Rules = {
    deleted: new Set(deletes ? first : []),
    mapped: deletes || second === undefined ? Buffer.from(BYTES) : mapping(first, second),
    squeezed: new Set(options.has("s") ? (second ?? (deletes ? [] : first)) : []),
  };
  let last: number | undefined;
  for (;;) {
    const bytes = await self.stdin.read(self.signal);
    if (bytes === undefined) return 0;
    const out = translate(bytes, rules, last);
    last = out.at(-1) ?? last;
    if (out.length > 0) await self.stdout.write(out, self.signal);
    await self.turn(1 + bytes.length / BYTES_PER_UNIT);
  }
}

const BYTES_PER_UNIT = 1024;

interface Rules {
  readonly deleted: ReadonlySet<number>;
  /** the replacement of each byte */
  readonly mapped: Buffer;
  readonly squeezed: ReadonlySet<number>;
}

/** @param before the last written byte */
function translate(bytes: Uint8Array, { deleted, mapped, squeezed }: Rules, before: number | undefined): Buffer {
  const out = Buffer.alloc(bytes.length);
  let length = 0;
  let last = before;
  for (const byte of bytes) {
    if (deleted.has(byte)) continue;
    const to = mapped[byte] ?? byte;
    if (to === last && squeezed.has(to)) continue;
    out[length++] = to;
    last = to;
  }
  return out.subarray(0, length);
}

/** If the second set is shorter, its last byte is repeated. */
function mapping(from: readonly number[], to: readonly number[]): Buffer {
  const mapped = Buffer.from(BYTES);
  for (const [at, byte] of from.entries()) mapped[byte] = to[at] ?? to.at(-1) ?? byte;
  return mapped;
}

function complement(set: readonly number[]): readonly number[] {
  const has = new Set(set);
  return BYTES.filter((byte) => !has.has(byte));
}

const CLASS = /^\[:([a-z]+):\]/;
const EQUIVALENTS = /^\[=(.)=\]/s;
/** Up to three digits that fit a byte. */
const OCTAL = /^\\([0-3][0-7]{0,2}|[4-7][0-7]?)/;
const HEX = /^\\x([0-9a-fA-F]{1,2})/;

/** @returns the bytes of a set, in order */
function expandSet(text: string): readonly number[] {
  const set: number[] = [];
  // From here on, each character is one byte.
  let left = Buffer.from(text).toString("latin1");
  while (left !== "") {
    const [whole, name] = CLASS.exec(left) ?? EQUIVALENTS.exec(left) ?? [];
    const known = whole?.startsWith("[:") ? CLASSES.get(name ?? "") : name && [name.charCodeAt(0)];
    if (whole !== undefined && known) {
      set.push(...known);
      left = left.slice(whole.length);
      continue;
    }
    const from = readByte(left);
    left = left.slice(from.length);
    if (left.length < 2 || !left.startsWith("-")) {
      set.push(from.byte);
      continue;
    }
    const to = readByte(left.slice(1));
    left = left.slice(1 + to.length);
    for (let byte = from.byte; byte <= to.byte; byte++) set.push(byte);
  }
  return set;
}

/** @returns the first byte of a set, and the number of characters that encode it */
function readByte(text: string): { readonly byte: number; readonly length: number } {
  const [octal, octalDigits] = OCTAL.exec(text) ?? [];
  if (octal !== undefined) return { byte: Number.parseInt(octalDigits ?? "", 8), length: octal.length };
  const [hex, hexDigits] = HEX.exec(text) ?? [];
  if (hex !== undefined) return { byte: Number.parseInt(hexDigits ?? "", 16), length: hex.length };
  const escaped = text.startsWith("\\") ? ESCAPES.get(text.charAt(1)) : undefined;
  return escaped === undefined ? { byte: text.charCodeAt(0), length: 1 } : { byte: escaped, length: 2 };
}
