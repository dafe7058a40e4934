import { withoutEnding } from "../../../../util/text/linear-text.js";
import { compileGlob, find } from "../../language/expansion/glob.js";
import { runNow } from "../../language/expansion/patterns.js";

export interface TarOptions {
  readonly mode: "create" | "extract" | "list";
  /** `-`: stdin or stdout */
  readonly file: string;
  /** names are relative to `folder`: the last `-C` before the name */
  readonly members: readonly { readonly folder: string; readonly name: string }[];
  /** where to extract to */
  readonly folder: string;
  readonly isVerbose: boolean;
  readonly isGzip: boolean;
  /** -m: extracted files get the current time */
  readonly ignoresTimes: boolean;
  /** -p; by default only root keeps the archive's permissions, others lose 022 */
  readonly keepsPermissions: boolean | undefined;
  /** -O: write contents to stdout */
  readonly toStdout: boolean;
  /** -k: do not overwrite existing files */
  readonly keepsOld: boolean;
  /** -h: follow symbolic links */
  readonly followsLinks: boolean;
  readonly excludes: readonly string[];
}

const LONG_OPTIONS: Readonly<Record<string, string>> = {
  create: "c",
  extract: "x",
  get: "x",
  list: "t",
  verbose: "v",
  gzip: "z",
  gunzip: "z",
  touch: "m",
  "preserve-permissions": "p",
  "same-permissions": "p",
  "to-stdout": "O",
  "keep-old-files": "k",
  dereference: "h",
  "no-same-permissions": "",
  "no-same-owner": "",
  "same-owner": "",
  "numeric-owner": "",
  overwrite: "",
  "warning=no-unknown-keyword": "",
};
const LONG_WITH_VALUE: Readonly<Record<string, string>> = { file: "f", directory: "C", exclude: "X" };

/** @returns the options, or what is wrong; "" if the mode is missing */
export function parseTarOptions(args: readonly string[]): TarOptions | string {
  const flags = new Set<string>();
  const excludes: string[] = [];
  const members: { folder: string; name: string }[] = [];
  let file = "-";
  let folder = "";
  const set = (letter: string, value: string) => {
    if (letter === "f") file = value;
    else if (letter === "C") folder = folder === "" || value.startsWith("/") ? value : `${folder}/${value}`;
    else if (letter === "X") excludes.push(value);
    else flags.add(letter);
  };
  // The first argument may be options without a dash: `tar cf - x`.
  const queue = args.map((arg, index) => (index === 0 && !arg.startsWith("-") ? `-${arg}` : arg));
  for (let arg = queue.shift(); arg !== undefined; arg = queue.shift()) {
    if (arg === "--") {
      members.push(...queue.splice(0).map((name) => ({ folder, name })));
    } else if (arg.startsWith("--")) {
      const problem = longOption(arg, queue, set);
      if (problem !== undefined) return problem;
      if (arg === "--no-same-permissions") flags.add("no-p");
    } else if (arg.startsWith("-") && arg !== "-") {
      const problem = shortOptions(arg, queue, set);
      if (problem !== undefined) return problem;
    } else members.push({ folder, name: arg });
  }
  const modes = (["c", "x", "t"] as const).filter((letter) => flags.has(letter));
  if (modes.length !== 1) return "";
  if (flags.has("c") && members.length === 0) return "empty archive";
  return {
    mode: flags.has("c") ? "create" : flags.has("x") ? "extract" : "list",
    file,
    members,
    folder,
    isVerbose: flags.has("v"),
    isGzip: flags.has("z"),
    ignoresTimes: flags.has("m"),
    keepsPermissions: flags.has("no-p") ? false : flags.has("p") ? true : undefined,
    toStdout: flags.has("O"),
    keepsOld: flags.has("k"),
    followsLinks: flags.has("h"),
    excludes,
  };
}

type SetOption = (letter: string, value: string) => void;

function longOption(arg: string, queue: string[], set: SetOption): string | undefined {
  const [name = "", ...rest] = arg.slice(2).split("=");
  const whole = LONG_OPTIONS[arg.slice(2)];
  if (whole !== undefined) {
    for (const letter of whole) set(letter, "");
    return undefined;
  }
  const letter = LONG_WITH_VALUE[name];
  if (letter === undefined) return `unrecognized option '${arg}'`;
  const value = rest.length > 0 ? rest.join("=") : queue.shift();
  if (value === undefined) return `option '${arg}' requires an argument`;
  set(letter, value);
  return undefined;
}

function shortOptions(arg: string, queue: string[], set: SetOption): string | undefined {
  for (let at = 1; at < arg.length; at++) {
    const letter = arg.charAt(at);
    if (letter === "o") continue; // owners are not kept
    if ("cxtvzmpOkh".includes(letter)) {
      set(letter, "");
      continue;
    }
    if (!"fCX".includes(letter)) return `invalid option -- '${letter}'`;
    const value = arg.slice(at + 1) || queue.shift();
    if (value === undefined) return `option requires an argument -- '${letter}'`;
    set(letter, value);
    return undefined;
  }
  return undefined;
}

/** A member's name without a leading slash, and without everything up to the last `..`. Mirrors busybox's unsafe_prefix.c. */
export function safeName(name: string): string {
  return name.replace(/^(?:.*\/)?\.\.(?:\/|$)/, "").replace(/^\/+/, "");
}

/** Whether a pattern matches the beginning of a member's name, or of one of its path components. */
export function globMatches(pattern: string, name: string): boolean {
  const glob = compileGlob([{ text: `/${withoutEnding(pattern, "/")}/`, isQuoted: false }]);
  return runNow(find(glob, `/${name}/`, 0)) !== undefined;
}
