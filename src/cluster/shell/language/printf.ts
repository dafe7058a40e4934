import { encodeText } from "../byte-text.js";
import type { Self } from "../process/process.js";
import { unitsOf } from "../streams.js";
import { unescapeText } from "./escapes.js";

/** The output of `printf`. */
export interface PrintfHost {
  readonly self: Pick<Self, "memory" | "turn">;
  write(bytes: Buffer): Promise<void> | void;
  /** reports an argument or a format that is wrong */
  complain(text: string): Promise<void>;
}

/** Output is written in pieces of about this length. */
const PIECE_LENGTH = 65_536;
/** The largest width that printf(3) can return. */
const MAX_WIDTH = 0x7fff_ffff;

const VERBS = "bcdiouxXfeEgGsF";
const ITEM =
  /\\(?:0?[0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)|%(?:%|([-+ 0#]*)(\*|(?:[1-9]\d*)?)(?:\.(\*|\d*))?([a-zA-Z]))|[^\\%]+|./gs;

/**
 * `printf FORMAT [ARG...]`: the format is reused until all arguments are consumed. Padding is not built in memory.
 * @returns the exit code
 */
export async function runPrintf(format: string, args: readonly string[], host: PrintfHost): Promise<number> {
  const items = [...format.matchAll(ITEM)];
  const wrong = items.findIndex(([whole, , , , verb]) => (verb === undefined ? whole === "%" : !VERBS.includes(verb)));
  let used = 0;
  const next = () => args[used++];
  let out = "";
  let status = 0;
  const flush = async () => {
    const bytes = encodeText(out);
    out = "";
    await host.write(bytes);
    await host.self.turn(unitsOf(bytes.length));
  };
  do {
    const before = used;
    for (const [at, [whole, flags = "", width, precision, verb]] of items.entries()) {
      if (at === wrong) {
        await flush();
        await host.complain(`${format.slice(items[at]?.index)}: invalid format`);
        return 1;
      }
      if (verb === undefined) out += whole.startsWith("\\") ? unescapeText(whole) : whole === "%%" ? "%" : whole;
      else {
        const wide = width === "*" ? Number(next()) : Number(width);
        const exact = precision === undefined ? undefined : precision === "*" ? Number(next()) : Number(precision);
        if (exact !== undefined && exact > PIECE_LENGTH) host.self.memory.requireText(exact);
        const arg = next();
        const shown = convert(verb, arg, flags, exact);
        if (shown.isBad || wide > MAX_WIDTH) status = 1;
        if (shown.isBad) {
          await flush();
          await host.complain(`invalid number '${arg ?? ""}'`);
        }
        const [start, fill, count, end] = padding(shown.text, flags, wide > MAX_WIDTH ? 0 : wide, verb);
        out += start;
        let left = count;
        for (; left > PIECE_LENGTH; left -= PIECE_LENGTH) {
          out += fill.repeat(PIECE_LENGTH);
          await flush();
        }
        out += fill.repeat(left) + end;
      }
      if (out.length > PIECE_LENGTH) await flush();
    }
    if (used === before) break;
  } while (used < args.length);
  if (out !== "") await host.write(encodeText(out));
  return status;
}

/** Differs: JavaScript prints no more digits of a fraction. */
const MAX_DIGITS = 100;

function convert(
  verb: string,
  arg: string | undefined,
  flags: string,
  precision: number | undefined,
): { readonly text: string; readonly isBad: boolean } {
  const good = (text: string) => ({ text, isBad: false });
  switch (verb) {
    case "s":
      return good((arg ?? "").slice(0, precision));
    case "b":
      return good(unescapeText(arg ?? ""));
    case "c":
      return good((arg ?? "").slice(0, 1));
    case "f":
    case "e":
    case "g":
    case "F":
    case "E":
    case "G": {
      const given = Number(arg ?? 0);
      const isBad = Number.isNaN(given) || arg === "";
      const value = isBad ? 0 : given;
      const text =
        verb.toLowerCase() === "e"
          ? value.toExponential(Math.min(precision ?? 6, MAX_DIGITS)).replace(/e([+-])(\d)$/, "e$10$2")
          : verb.toLowerCase() === "g"
            ? String(value)
            : value.toFixed(Math.min(precision ?? 6, MAX_DIGITS));
      return { text: signed(text, value < 0, flags), isBad };
    }
    default:
      return integer(verb, arg ?? "", flags, precision);
  }
}

/** More digits than a number of 64 bits can have; reading them all would take long. */
const MAX_INTEGER_LENGTH = 64;

function integer(verb: string, arg: string, flags: string, precision: number | undefined) {
  const match = /^\s*([-+]?)(0[xX][0-9a-fA-F]+|\d+)/.exec(arg);
  const quoted = /^['"](.)/su.exec(arg);
  const digits = (match?.[2] ?? "0").length > MAX_INTEGER_LENGTH ? `0x1${"0".repeat(16)}` : (match?.[2] ?? "0");
  const size = quoted
    ? BigInt(quoted[1]?.codePointAt(0) ?? 0)
    : BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
  const bases: Readonly<Record<string, number>> = { x: 16, X: 16, o: 8 };
  const base = bases[verb] ?? 10;
  const given = match?.[1] === "-" ? -size : size;
  const isNoNumber = !quoted && (match === null || match[0].length !== arg.length);
  // As in busybox, texts that strtoll and strtoull refuse are 0.
  const isSigned = base === 10 && verb !== "u";
  const isTooLarge = isSigned ? given !== BigInt.asIntN(64, given) : size >= 2n ** 64n;
  const value = isTooLarge || isNoNumber ? 0n : given;
  const isBad = isTooLarge || isNoNumber;
  const shown = isSigned ? value : BigInt.asUintN(64, value);
  const magnitude = (shown < 0n ? -shown : shown).toString(base).padStart(precision ?? 0, "0");
  const prefix = flags.includes("#") && base === 16 ? "0x" : flags.includes("#") && base === 8 ? "0" : "";
  const text = `${shown < 0n ? "-" : ""}${prefix}${magnitude}`;
  return { text: signed(verb === "X" ? text.toUpperCase() : text, shown < 0n, flags), isBad };
}

function signed(text: string, isNegative: boolean, flags: string): string {
  if (isNegative) return text;
  return flags.includes("+") ? `+${text}` : flags.includes(" ") ? ` ${text}` : text;
}

/** @returns the text before the padding, the padding's character and count, and the text after it */
function padding(text: string, flags: string, width: number, verb: string): readonly [string, string, number, string] {
  const count = width > text.length ? width - text.length : 0;
  if (flags.includes("-")) return [text, " ", count, ""];
  if (!flags.includes("0") || verb === "s" || verb === "c") return ["", " ", count, text];
  const sign = /^[-+ ]/.exec(text)?.[0] ?? "";
  return [sign, "0", count, text.slice(sign.length)];
}
