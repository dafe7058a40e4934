import { extendedRegex } from "./basic-regex.js";

/** A command's arguments for just-bash, which lacks some of busybox's options. */
export function utilityArguments(name: string, args: readonly string[]): readonly string[] {
  if (name === "awk") return awkArguments(args);
  if (name === "cut") return args.map((arg) => arg.replace(/^-b/, "-c"));
  // `1i\text` on one line, as GNU and busybox take it
  // without the suffix of -i.bak
  const inPlace = (arg: string) => arg.replace(/^(-[nEr]*i).+/, "$1");
  if (name === "sed")
    return shortSedOptions(args).map((arg) =>
      inPlace(arg).replace(/^((?:\d+|\$|\/[^/]*\/)?[aic])\\(?=[^\n\\])/, "$1\\\n"),
    );
  // Sorted files are merged by sorting them again.
  if (name === "sort")
    return args
      .map((arg) => arg.replace(/^(-[a-su-y]*)m/, "$1").replace(/^(-[a-z]*)z/, "$1"))
      .filter((arg) => arg !== "-");
  if (name === "expr") {
    const isPattern = (at: number) => args[at - 1] === ":" || args[at - 2] === "match";
    return args.map((arg, at) => (isPattern(at) ? extendedRegex(arg) : arg));
  }
  return /^[ef]?grep$/.test(name) ? grepArguments(args) : args;
}

const SED_OPTIONS: readonly (readonly [long: RegExp, short: string])[] = [
  [/^--(?:quiet|silent)$/, "-n"],
  [/^--regexp-extended$/, "-E"],
  [/^--in-place(?:=.*)?$/s, "-i"],
  [/^--expression$/, "-e"],
  [/^--file$/, "-f"],
];

/** Long options of sed, of which just-bash knows none. */
function shortSedOptions(args: readonly string[]): readonly string[] {
  return args.flatMap((arg) => {
    const [, expression] = /^--expression=(.*)$/s.exec(arg) ?? [];
    if (expression !== undefined) return ["-e", expression];
    return SED_OPTIONS.find(([long]) => long.test(arg))?.[1] ?? arg;
  });
}

/** Every input is text, so -a says nothing; a second file makes grep name the first one (-H); several patterns are one. */
function grepArguments(args: readonly string[]): readonly string[] {
  const shown = args
    .filter((arg) => !/^--colou?r(=|$)/.test(arg))
    .map((arg) => (/^-[A-Za-z]*[asHz]/.test(arg) ? arg.replace(/[asHz]/g, "") : arg))
    .filter((arg) => arg !== "-");
  const patterns = shown.flatMap((arg, at) => (shown[at - 1] === "-e" ? [arg] : []));
  const isExtended = shown.some((arg) => /^-[a-z]*E/.test(arg));
  const one = patterns.length < 2 ? shown : shown.filter((arg, at) => arg !== "-e" && shown[at - 1] !== "-e");
  const joined = patterns.length < 2 ? one : ["-e", patterns.join(isExtended ? "|" : "\\|"), ...one];
  return args.some((arg) => /^-[A-Za-z]*H/.test(arg)) ? [...joined, "/dev/null"] : joined;
}

/**
 * The arguments of awk for just-bash, which takes every field separator for a regular expression: a single character
 * other than a space is literal (POSIX, "Regular Expressions" of awk).
 */
function awkArguments(args: readonly string[]): string[] {
  const out = args.flatMap((arg) => (/^-v./s.test(arg) ? ["-v", arg.slice(2)] : [arg === "-" ? "/dev/stdin" : arg]));
  for (let at = 0; at < out.length; at++) {
    const arg = out[at] ?? "";
    if (arg === "-F") {
      at++;
      out[at] = separator(out[at] ?? "");
    } else if (arg.startsWith("-F")) out[at] = `-F${separator(arg.slice(2))}`;
    else if (arg === "-v" || arg === "-f") at++;
    else if (!arg.startsWith("-") || arg === "-" || arg === "--") break;
  }
  return out;
}

/** `awk -f FILE`, which just-bash lacks: the program takes the place of its file. @param read may throw */
export function awkWithProgram(args: readonly string[], read: (name: string) => string): readonly string[] {
  const options: string[] = [];
  const programs: string[] = [];
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at] ?? "";
    const hasNext = at + 1 < args.length;
    if (!arg.startsWith("-") || arg === "-" || arg === "--") break;
    if (arg === "-f" && hasNext) programs.push(read(args[++at] ?? ""));
    else if (/^-f./.test(arg)) programs.push(read(arg.slice(2)));
    else if (/^-[Fv]$/.test(arg) && hasNext) options.push(arg, args[++at] ?? "");
    else options.push(arg);
  }
  const operands = args.slice(args[at] === "--" ? at + 1 : at);
  return programs.length === 0 ? args : [...options, programs.join("\n"), ...operands];
}

function separator(text: string): string {
  return /^[.*+?()|{}[\]^$\\]$/.test(text) ? `\\${text}` : text;
}
