/** The flags of a subcommand, by their long names. */
export class Flags {
  constructor(readonly values: ReadonlyMap<string, string>) {}

  text(name: string, otherwise = ""): string {
    return this.values.get(name) ?? otherwise;
  }

  number(name: string, otherwise: number): number {
    const value = Number(this.values.get(name) ?? otherwise);
    return Number.isInteger(value) ? value : otherwise;
  }

  isSet(name: string, otherwise = false): boolean {
    const value = this.values.get(name);
    return value === undefined ? otherwise : value !== "false";
  }
}

/**
 * Parses flags as cobra does: `--name=value`, `--name value`, `-n value`. Flags of `booleans` take no separate value.
 * @param shorthands long names by their letters
 */
export function parseFlags(
  args: readonly string[],
  shorthands: Readonly<Record<string, string>>,
  booleans: readonly string[],
): Flags {
  const values = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const match = /^-{1,2}([^=]+)(?:=(.*))?$/s.exec(args[at] ?? "");
    if (match === null) continue;
    const name = shorthands[match[1] ?? ""] ?? match[1] ?? "";
    if (match[2] !== undefined) values.set(name, match[2]);
    else if (booleans.includes(name)) values.set(name, "true");
    else values.set(name, args[++at] ?? "");
  }
  return new Flags(values);
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `1m30s`, `500ms`, `0` in ms; undefined if it is not a Go duration. */
export function durationMs(text: string): number | undefined {
  if (text === "0") return 0;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/gy)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) return undefined;
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS_MS[unit ?? ""] ?? 0), 0);
}
