import { encodeText, unescapeText } from "../programs/escapes.js";

/** `printf FORMAT [ARG...]`: the format is reused until all arguments are consumed. */
export function formatPrintf(
  format: string,
  args: readonly string[],
): { readonly text: Buffer; readonly status: number } {
  const rest = [...args];
  let out = "";
  let status = 0;
  do {
    const before = rest.length;
    out += format.replace(
      /\\(?:0?[0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)|%(?:%|([-+ 0#]*)(\*|\d*)(?:\.(\*|\d*))?([a-zA-Z]))/gs,
      (whole, flags: string | undefined, width: string, precision: string | undefined, verb: string) => {
        if (whole.startsWith("\\")) return unescapeText(whole);
        if (whole === "%%") return "%";
        const wide = width === "*" ? Number(rest.shift()) : Number(width);
        const exact =
          precision === undefined ? undefined : precision === "*" ? Number(rest.shift()) : Number(precision);
        const shown = convert(verb, rest.shift(), flags ?? "", exact);
        if (shown.isBad) status = 1;
        return pad(shown.text, flags ?? "", wide, verb);
      },
    );
    if (rest.length === before) break;
  } while (rest.length > 0);
  return { text: encodeText(out), status };
}

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
    case "q":
      return good(`'${(arg ?? "").replaceAll("'", "'\\''")}'`);
    case "f":
    case "e":
    case "g":
    case "F":
    case "E":
    case "G": {
      const value = Number(arg ?? 0);
      const text =
        verb.toLowerCase() === "e"
          ? value.toExponential(precision ?? 6)
          : verb.toLowerCase() === "g"
            ? String(value)
            : value.toFixed(precision ?? 6);
      return { text: signed(text, value < 0, flags), isBad: Number.isNaN(value) };
    }
    default:
      return integer(verb, arg ?? "0", flags, precision);
  }
}

function integer(verb: string, arg: string, flags: string, precision: number | undefined) {
  const match = /^\s*([-+]?)(0[xX][0-9a-fA-F]+|\d+)/.exec(arg);
  const quoted = /^['"](.)/su.exec(arg);
  const digits = match?.[2] ?? "0";
  const size = quoted
    ? BigInt(quoted[1]?.codePointAt(0) ?? 0)
    : BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
  const value = match?.[1] === "-" ? -size : size;
  const isBad = !quoted && (match === null || match[0].length !== arg.length) && arg !== "";
  const bases: Readonly<Record<string, number>> = { x: 16, X: 16, o: 8 };
  const base = bases[verb] ?? 10;
  const shown = base === 10 && verb !== "u" ? value : BigInt.asUintN(64, value);
  const magnitude = (shown < 0n ? -shown : shown).toString(base).padStart(precision ?? 0, "0");
  const prefix = flags.includes("#") && base === 16 ? "0x" : flags.includes("#") && base === 8 ? "0" : "";
  const text = `${shown < 0n ? "-" : ""}${prefix}${magnitude}`;
  return { text: signed(verb === "X" ? text.toUpperCase() : text, shown < 0n, flags), isBad };
}

function signed(text: string, isNegative: boolean, flags: string): string {
  if (isNegative) return text;
  return flags.includes("+") ? `+${text}` : flags.includes(" ") ? ` ${text}` : text;
}

function pad(text: string, flags: string, width: number, verb: string): string {
  if (!(width > text.length)) return text;
  if (flags.includes("-")) return text.padEnd(width);
  if (!flags.includes("0") || verb === "s" || verb === "c") return text.padStart(width);
  const sign = /^[-+ ]/.exec(text)?.[0] ?? "";
  return sign + text.slice(sign.length).padStart(width - sign.length, "0");
}
