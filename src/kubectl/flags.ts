import type { MessageKey } from "../i18n/catalogue.js";
import { type Message, MessageError } from "../i18n/message-error.js";

/** A parsed kubectl line. */
export interface KubectlLine {
  /** `get`, `rollout status` */
  readonly verb: string;
  readonly words: readonly string[];
  /** by its long name: every value that was given; `true` for a switch */
  readonly flags: Readonly<Record<string, readonly string[]>>;
  /** the words after `--` */
  readonly rest: readonly string[];
}

/**
 * The flags of a verb, separated by spaces: `all` is a switch, `output|o=` takes a value, `cascade=background` may be given
 * without its value and then has this one.
 */
export type FlagNotation = string;

interface Flag {
  readonly name: string;
  readonly takesValue: boolean;
  /** without a value */
  readonly implied: string | undefined;
}

/** The flags of every verb. Mirrors k8s.io/cli-runtime/pkg/genericclioptions/config_flags.go. */
const GLOBAL_FLAGS: FlagNotation = "namespace|n= kubeconfig= context= token= v|v=";

/**
 * Takes a command line apart by the flags that its verb declares.
 * @param verbs the flags by verb; the longest verb that the line begins with counts
 * @throws LabError USAGE for verbs and flags that the built-in kubectl does not support
 */
export function parseLine(argv: readonly string[], verbs: Readonly<Record<string, FlagNotation>>): KubectlLine {
  const dashes = argv.indexOf("--");
  const line = dashes < 0 ? argv : argv.slice(0, dashes);
  const verb = verbOf(line, verbs);
  const parsed = split(verb, line, parseNotation(`${verbs[verb]} ${GLOBAL_FLAGS}`));
  const words = parsed.words.slice(verb.split(" ").length);
  return { verb, words, flags: parsed.flags, rest: dashes < 0 ? [] : argv.slice(dashes + 1) };
}

/** The verb is what follows the global flags: one, two or three words. */
function verbOf(line: readonly string[], verbs: Readonly<Record<string, FlagNotation>>): string {
  const global = parseNotation(GLOBAL_FLAGS);
  let at = 0;
  while (line[at]?.startsWith("-") === true) at += global.get(line[at] ?? "")?.takesValue === true ? 2 : 1;
  for (const count of [3, 2, 1]) {
    const verb = line.slice(at, at + count).join(" ");
    if (Object.hasOwn(verbs, verb)) return verb;
  }
  throw unknown(
    line.slice(at, Object.keys(verbs).some((one) => one.startsWith(`${line[at]} `)) ? at + 2 : at + 1).join(" "),
  );
}

/** @returns the flags as they are written: `--output`, `-o` */
function parseNotation(notation: FlagNotation): ReadonlyMap<string, Flag> {
  return new Map(
    notation.split(" ").flatMap((text): [string, Flag][] => {
      const [names = "", implied] = text.split("=");
      const [name = "", short] = names.split("|");
      const flag: Flag = {
        name,
        takesValue: implied === "",
        implied: implied === "" ? undefined : (implied ?? "true"),
      };
      return [...(short === undefined ? [] : [[`-${short}`, flag] as [string, Flag]]), [`--${name}`, flag]];
    }),
  );
}

function split(verb: string, line: readonly string[], known: ReadonlyMap<string, Flag>) {
  const flags: Record<string, string[]> = {};
  const words: string[] = [];
  const left = [...line];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (!word.startsWith("-") || word === "-") {
      words.push(word);
      continue;
    }
    const [, name = word, equals, given] = /^(--[^=]+|-\w)(=?)(.*)$/s.exec(word) ?? [];
    const flag = known.get(name);
    if (flag === undefined) {
      const message: Message = ["kubectlUnknownFlag", { verb, what: name, known: [...known.keys()].join(" ") }];
      throw new MessageError("USAGE", message, ["kubectlUnknownHint"]);
    }
    let value = equals === "=" || (flag.takesValue && given !== "") ? given : flag.implied;
    // Switches in one word: `-it`.
    if (!flag.takesValue && equals === "" && given !== "") left.unshift(`-${given}`);
    if (flag.takesValue && value === undefined) value = left.shift();
    if (value === undefined) throw unknown(name, "kubectlNeedsValue");
    flags[flag.name] = [...(flags[flag.name] ?? []), value];
  }
  return { words, flags };
}

/** @param key the message, if `what` alone is not enough */
export function unknown(
  what: string,
  key: MessageKey = what === "" ? "kubectlNothing" : "kubectlUnknown",
): MessageError {
  return new MessageError("USAGE", [key, { what }], ["kubectlUnknownHint"]);
}

/** The value of a flag; the last one, if it was repeated. */
export function text(line: KubectlLine, flag: string): string | undefined {
  return line.flags[flag]?.at(-1);
}

/** Every value of a flag. */
export function texts(line: KubectlLine, flag: string): readonly string[] {
  return line.flags[flag] ?? [];
}

/** Whether a switch is on: `--all`, but not `--all=false`. */
export function isOn(line: KubectlLine, flag: string): boolean {
  return text(line, flag) === "true";
}
