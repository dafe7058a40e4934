import type { Self } from "../../process/process.js";
import { fail, parseArgs, print, usage } from "../console.js";
import { forEachInput } from "../text.js";

/** How a field of a row is written. */
interface Format {
  /** bytes of a field */
  readonly size: number;
  /** characters of a field, with the space before it */
  readonly width: number;
  readonly show: (bytes: Buffer) => string;
  /** what ends a row */
  readonly tail?: (row: Buffer) => string;
}

interface Dump {
  readonly format: Format;
  readonly options: ReadonlyMap<string, string>;
  readonly skip: string | undefined;
  readonly most: string | undefined;
  readonly address: (at: number) => string;
  readonly rowBytes?: number;
  /** fills the last row, and has no end without a row */
  readonly isHexdump?: boolean;
}

/** Characters of a number by its bytes. Mirrors busybox's coreutils/od_bloaty.c (bytes_to_*_digits). */
const WIDTHS: Readonly<Record<string, Readonly<Record<number, number>>>> = {
  d: { 1: 5, 2: 7, 4: 12, 8: 21 },
  o: { 1: 4, 2: 7, 4: 12, 8: 23 },
  u: { 1: 4, 2: 6, 4: 11, 8: 21 },
  x: { 1: 3, 2: 5, 4: 9, 8: 17 },
};
const RADIX: Readonly<Record<string, number>> = { o: 8, x: 16 };
const ESCAPES = ["\\0", "", "", "", "", "", "", "\\a", "\\b", "\\t", "\\n", "\\v", "\\f", "\\r"];
const OLD_OPTIONS = { b: "o1", c: "c", d: "u2", o: "o2", x: "x2", h: "x2", s: "d2", i: "d2", l: "d4" };

/** `od [-bcdhilosxv] [-t TYPE] [-A RADIX] [-N SIZE] [-j SKIP] [-w WIDTH] [FILE...]`. Differs: one type, no floats, no -S. */
export async function od(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "bcdhilosxvt:A:N:j:w:");
  if (unknown !== undefined) return usage(self, unknown);
  const old = Object.entries(OLD_OPTIONS).find(([letter]) => options.has(letter))?.[1];
  const type = options.get("t") ?? old ?? "o2";
  const format = type === "c" ? CHARACTERS : numbers(type.charAt(0), Number(type.slice(1) || 4));
  if (format === undefined) return fail(self, `invalid type string '${type}'`);
  const [digits, radix] = { d: [7, 10], x: [6, 16], n: [0, 0] }[options.get("A") ?? ""] ?? [7, 8];
  const address = (at: number) => (radix === 0 ? "" : at.toString(radix).padStart(digits ?? 0, "0"));
  const [skip, most, rowBytes] = [options.get("j"), options.get("N"), Number(options.get("w") ?? 16)];
  return write(self, rest, { format, options, skip, most, address, rowBytes });
}

/** `hexdump [-Cv] [-n LENGTH] [-s OFFSET] [FILE...]` */
export async function hexdump(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "Cvxn:s:");
  if (unknown !== undefined) return usage(self, unknown);
  const tail = (row: Buffer) => `  |${row.toString("latin1").replace(/[^ -~]/g, ".")}|`;
  const pairs = options.has("x") ? 8 : 5;
  const format = options.has("C") ? { ...HEX_BYTES, tail } : { ...HEX_BYTES, size: 2, width: pairs };
  const address = (at: number) => at.toString(16).padStart(options.has("C") ? 8 : 7, "0");
  const [skip, most] = [options.get("s"), options.get("n")];
  return write(self, rest, { format, options, skip, most, address, isHexdump: true });
}

const HEX_BYTES: Format = { size: 1, width: 3, show: (bytes) => Buffer.from(bytes).reverse().toString("hex") };

const CHARACTERS: Format = {
  size: 1,
  width: 4,
  show: ([byte = 0]) => {
    const isPrinted = byte >= 0x20 && byte < 0x7f;
    return ESCAPES[byte] || (isPrinted ? String.fromCharCode(byte) : byte.toString(8).padStart(3, "0"));
  },
};

/** Little-endian numbers. @returns undefined for an unknown kind or size */
function numbers(kind: string, size: number): Format | undefined {
  const [width, radix = 10] = [WIDTHS[kind]?.[size], RADIX[kind]];
  if (width === undefined) return undefined;
  const show = (bytes: Buffer) => {
    const value = BigInt(`0x${HEX_BYTES.show(bytes)}`);
    const text = (kind === "d" ? BigInt.asIntN(size * 8, value) : value).toString(radix);
    return radix === 10 ? text : text.padStart(width - 1, "0");
  };
  return { size, width, show };
}

async function write(self: Self, names: readonly string[], dump: Dump): Promise<number> {
  const { options, address, rowBytes = 16, isHexdump = false } = dump;
  let [skip, left, at] = [
    Number(dump.skip ?? 0),
    Number(dump.most ?? Number.POSITIVE_INFINITY),
    Number(dump.skip ?? 0),
  ];
  let held = Buffer.alloc(0);
  let before: Buffer | undefined;
  let isFolded = false;
  const writeRow = async (row: Buffer) => {
    const isSame = !options.has("v") && before?.equals(row) === true;
    if (!isSame) await print(self, rowText(row, at, dump));
    else if (!isFolded) await print(self, "*\n");
    [isFolded, before] = [isSame, row];
    at += row.length;
    await self.turn();
  };
  const code = await forEachInput(self, names, async (source) => {
    while (left > 0) {
      const bytes = await source.read(self.signal, Math.min(65_536, skip + left));
      if (bytes === undefined) return;
      const rest = bytes.subarray(skip);
      skip -= bytes.length - rest.length;
      left -= rest.length;
      held = Buffer.concat([held, rest]);
      for (; held.length >= rowBytes; held = held.subarray(rowBytes)) await writeRow(held.subarray(0, rowBytes));
    }
  });
  if (held.length > 0) await writeRow(held);
  if (address(at) !== "" && !(isHexdump && at === 0)) await print(self, `${address(at)}\n`);
  return code;
}

function rowText(row: Buffer, at: number, { format, address, rowBytes = 16, isHexdump }: Dump): string {
  const { size, width, show, tail } = format;
  let text = address(at);
  for (let from = 0; from < (isHexdump === true ? rowBytes : row.length); from += size) {
    if (tail !== undefined && from % 8 === 0) text += " ";
    const field = Buffer.alloc(size);
    row.copy(field, 0, Math.min(from, row.length));
    text += (from < row.length ? show(field) : "").padStart(width);
  }
  return `${text}${tail?.(row) ?? ""}\n`;
}
