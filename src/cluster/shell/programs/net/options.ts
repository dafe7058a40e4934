/** The options of a command line, by their long names. */
export class NetOptions {
  constructor(
    readonly values: ReadonlyMap<string, readonly string[]>,
    /** the other arguments */
    readonly rest: readonly string[],
    /** an unknown option, or one without its value, with the problem */
    readonly problem: string | undefined,
  ) {}

  has(name: string): boolean {
    return this.values.has(name);
  }

  /** The value that was given last. */
  text(name: string): string | undefined {
    return this.values.get(name)?.at(-1);
  }

  all(name: string): readonly string[] {
    return this.values.get(name) ?? [];
  }

  /** Seconds, such as `2` or `0.5`, in ms. */
  milliseconds(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined || !/^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) ? undefined : Number(text) * 1_000;
  }
}

/** By long name: the letter of the short option, or "" without one; `:` after it for an option with a value. */
export type OptionTable = Readonly<Record<string, string>>;

/** Parses options at any position, as GNU's getopt_long does: `-s`, `-so FILE`, `--max-time 5`, `--max-time=5`; `--` ends them. */
export function parseOptions(args: readonly string[], table: OptionTable): NetOptions {
  const values = new Map<string, string[]>();
  const rest: string[] = [];
  let problem: string | undefined;
  const byLetter = new Map(Object.entries(table).map(([name, form]) => [form.charAt(0), name]));
  const add = (name: string, value: string) => values.set(name, [...(values.get(name) ?? []), value]);
  let at = 0;
  const nextValue = (option: string) => {
    at++;
    if (at >= args.length) problem ??= `option requires an argument -- '${option.replace(/^-+/, "")}'`;
    return args[at] ?? "";
  };
  for (; at < args.length && problem === undefined; at++) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      rest.push(...args.slice(at + 1));
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      rest.push(arg);
    } else if (arg.startsWith("--")) {
      const [name = "", ...value] = arg.slice(2).split("=");
      const form = Object.hasOwn(table, name) ? table[name] : undefined;
      if (form === undefined) problem = `unrecognized option '${arg}'`;
      else if (!form.endsWith(":")) add(name, "");
      else add(name, value.length > 0 ? value.join("=") : nextValue(arg));
    } else {
      problem ??= readLetters(arg);
    }
  }
  return new NetOptions(values, rest, problem);

  /** `-s`, `-sS`, `-oFILE`, `-so FILE`; returns the problem */
  function readLetters(arg: string): string | undefined {
    for (let i = 1; i < arg.length; i++) {
      const letter = arg.charAt(i);
      const name = letter === ":" ? undefined : byLetter.get(letter);
      if (name === undefined) return `invalid option -- '${letter}'`;
      if (table[name]?.endsWith(":") !== true) {
        add(name, "");
        continue;
      }
      add(name, arg.slice(i + 1) || nextValue(letter));
      return problem;
    }
    return undefined;
  }
}
