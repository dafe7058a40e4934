import { encodeText } from "../byte-text.js";
import type { Self } from "../process/process.js";
import { usageOf } from "../synopses.js";

/** Writes text to stdout. */
export async function print(self: Self, text: string): Promise<void> {
  await self.stdout.write(encodeText(text), self.signal);
}

/** Writes to stderr. */
export async function warn(self: Self, text: string): Promise<void> {
  await self.stderr.write(encodeText(text), self.signal);
}

/** Writes `name: text` to stderr. */
export async function complain(self: Self, text: string): Promise<void> {
  await warn(self, `${baseCommand(self)}: ${text}\n`);
}

/** The command's name in its messages. */
function baseCommand(self: Self): string {
  return (self.argv[0] ?? "").split("/").at(-1) ?? "";
}

/** Prints what is wrong with the arguments, and the usage of a program of busybox. @returns its exit code */
export async function usage(self: Self, problem?: string): Promise<number> {
  const known = usageOf(baseCommand(self));
  if (problem !== undefined) await complain(self, problem);
  await warn(self, known?.text ?? "");
  return known?.code ?? 1;
}

/** Prints why the program cannot do its work. @returns its exit code */
export async function fail(self: Self, problem: string): Promise<number> {
  await complain(self, problem);
  return 1;
}

export interface ParsedArgs {
  /** short options by letter, with their value or "" */
  readonly options: ReadonlyMap<string, string>;
  readonly rest: readonly string[];
  /** the words for an option that is not known: `invalid option -- 'Z'`, `unrecognized option '--foo'` */
  readonly unknown?: string;
}

/**
 * Parses short options as getopt does: `-n 5`, `-n5`, `-la`, also after other words; `--` ends them. Long options are
 * unknown.
 * @param spec as getopt's: `n:f` is -n with a value, and -f; with a first `+` the first other word ends the options
 */
export function parseArgs(args: readonly string[], spec: string): ParsedArgs {
  const options = new Map<string, string>();
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === "--") return { options, rest: [...rest, ...args.slice(at + 1)] };
    if (!arg.startsWith("-") || arg === "-") {
      if (spec.startsWith("+")) return { options, rest: args.slice(at) };
      rest.push(arg);
      continue;
    }
    for (let i = 1; i < arg.length; i++) {
      const letter = arg.charAt(i);
      const place = letter === ":" || letter === "+" ? -1 : spec.indexOf(letter);
      if (place < 0) {
        const unknown = letter === "-" ? `unrecognized option '${arg}'` : `invalid option -- '${letter}'`;
        return { options, rest: args.slice(at), unknown };
      }
      if (spec[place + 1] !== ":") {
        options.set(letter, "");
        continue;
      }
      const value = arg.slice(i + 1) || args[++at];
      if (value === undefined) return { options, rest, unknown: `option requires an argument -- '${letter}'` };
      options.set(letter, value);
      break;
    }
  }
  return { options, rest };
}
