import type { Self } from "../process/process.js";

/** Writes text to stdout. */
export async function print(self: Self, text: string): Promise<void> {
  await self.stdout.write(Buffer.from(text), self.signal);
}

/** Writes to stderr. */
export async function warn(self: Self, text: string): Promise<void> {
  await self.stderr.write(Buffer.from(text), self.signal);
}

/** Writes `name: text` to stderr. */
export async function complain(self: Self, text: string): Promise<void> {
  await warn(self, `${baseCommand(self)}: ${text}\n`);
}

/** The command's name in its messages. */
function baseCommand(self: Self): string {
  return (self.argv[0] ?? "").split("/").at(-1) ?? "";
}

/** Prints a usage error. @returns its exit code */
export async function usage(self: Self, text: string): Promise<number> {
  await complain(self, text);
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
 * Parses short options as getopt does: `-n 5`, `-n5`, `-la`, `--` ends them. Long options are unknown.
 * @param spec as getopt's: `n:f` is -n with a value, and -f
 */
export function parseArgs(args: readonly string[], spec: string): ParsedArgs {
  const options = new Map<string, string>();
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === "--") {
      at++;
      break;
    }
    if (!arg.startsWith("-") || arg === "-") break;
    for (let i = 1; i < arg.length; i++) {
      const letter = arg.charAt(i);
      const place = letter === ":" ? -1 : spec.indexOf(letter);
      if (place < 0) {
        const unknown = letter === "-" ? `unrecognized option '${arg}'` : `invalid option -- '${letter}'`;
        return { options, rest: args.slice(at), unknown };
      }
      if (spec[place + 1] !== ":") {
        options.set(letter, "");
        continue;
      }
      const value = arg.slice(i + 1);
      if (value === "") at++;
      options.set(letter, value === "" ? (args[at] ?? "") : value);
      break;
    }
  }
  return { options, rest: args.slice(at) };
}
