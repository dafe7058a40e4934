import type { Self } from "../process/process.js";

/** Writes text to stdout. */
export async function print(self: Self, text: string): Promise<void> {
  await self.stdout.write(Buffer.from(text), self.signal);
}

/** Writes `name: text` to stderr. */
export async function complain(self: Self, text: string): Promise<void> {
  await self.stderr.write(Buffer.from(`${baseCommand(self)}: ${text}\n`), self.signal);
}

/** The command as its own messages call it. */
export function baseCommand(self: Self): string {
  return (self.argv[0] ?? "").split("/").at(-1) ?? "";
}

/** Says what is wrong with the arguments. @returns the exit code of a usage error */
export async function usage(self: Self, text: string): Promise<number> {
  await complain(self, text);
  return 1;
}

export interface ParsedArgs {
  /** short options by letter; the value of those that take one, else "" */
  readonly options: ReadonlyMap<string, string>;
  readonly rest: readonly string[];
  /** an option that is not known */
  readonly unknown?: string;
}

/**
 * Reads short options as getopt does: `-n 5`, `-n5`, `-la`, `--` ends them. Long options are not known.
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
      if (place < 0) return { options, rest: args.slice(at), unknown: arg };
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

/** Lets everything else of this process run: what loops without waiting calls it now and then. */
export function breathe(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      if (signal.aborted) reject(signal.reason);
      else resolve();
    });
  });
}
