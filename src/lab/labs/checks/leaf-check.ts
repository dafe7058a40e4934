import { stat } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import type { KubeClient } from "../../../staging/client-go/rest/client.js";
import type { Say } from "../../../util/i18n/catalogue.js";
import { readRegularFile } from "../../../util/os/read-at-most.js";
import { joinLines } from "../../../util/text/linear-text.js";
import type { CommandResult } from "../environment/runner.js";
import { fieldInWords, fieldOf } from "../format/field.js";
import { pathInWords } from "../format/object-path.js";
import type { LeafCheck } from "../format/schema.js";
import { findIn } from "./match.js";
import {
  type Observation,
  observationOf,
  observationOfCommand,
  observationOfList,
  observationOfNothing,
} from "./observation.js";
import { findInOutput, matchedLines, outputOn } from "./output.js";
import { type StateTable, stateTables } from "./state-table.js";

interface Seen {
  readonly seen: string;
  readonly observations?: readonly Observation[];
  /** `seen` only describes a command, or output that a pattern did not match: for the lab's author */
  readonly isRaw?: boolean;
  /** `seen` is a line that a command has printed */
  readonly isPrinted?: boolean;
  /** what the check's command printed: its first line, or the one that has the pattern */
  readonly prints?: string;
  /** `seen` without a remark on an answer of several words */
  readonly answer?: string;
  /** the state that the check's command printed */
  readonly tables?: readonly StateTable[];
}

interface Wanted {
  readonly want: string;
  /** `want` is a pattern or an exit code: for the lab's author */
  readonly isRawWant?: boolean;
}

/** The result of a check, localized; renderers can put `wants ` and `sees ` in front. */
export type Verdict = (Seen & { readonly ok: true }) | (Seen & Wanted & { readonly ok: false });

/** The read-only view that checks have. */
export interface CheckView {
  readonly client: KubeClient;
  readonly folder: string;
  /** output of commands up to now, by the step's id or the background command's name */
  output(name: string): CommandResult | undefined;
  readonly say: Say;
  /** runs a read-only command */
  run(line: string, signal: AbortSignal): Promise<CommandResult>;
}

/** Evaluates one condition once. @throws LabError if the cluster is unreachable */
export async function evaluateLeaf(check: LeafCheck, view: CheckView, signal: AbortSignal): Promise<Verdict> {
  if ("command" in check) return commandVerdict(check, view, signal);
  if ("object" in check) return compared(check, await objectValue(check, view, signal), view.say);
  if ("list" in check) return compared(check, await listValue(check, view, signal), view.say);
  if ("output" in check) return outputVerdict(check, view);
  if ("exit" in check) return exitVerdict(check, view);
  return fileVerdict(check, view);
}

/** kubectl's message about a failed command in a container. */
const EXEC_FAILED = /^command terminated with exit code \d+$/m;

async function commandVerdict(
  { command, exit, matches, answer }: Extract<LeafCheck, { command: string }>,
  { run, say, folder }: CheckView,
  signal: AbortSignal,
): Promise<Verdict> {
  const result = await run(command, signal);
  const { code, stdout, stderr } = result;
  const holds = code === exit && (matches === undefined || findInOutput(result, "both", matches) !== undefined);
  const seen = say("commandSeen", { command, code: code ?? "-" });
  const tables = stateTables(command, stdout) ?? [];
  if (holds) {
    const [line = ""] = matches === undefined ? [] : matchedLines(result, [matches]);
    const prints = shortened(line.trim(), findIn(line, matches ?? "")) || firstLine(stdout);
    return { ok: true, seen, isRaw: true, prints, tables, observations: observationOfCommand(result, matches, prints) };
  }
  const want =
    matches === undefined
      ? say("commandWant", { command, code: exit })
      : say("commandWantText", { command, code: exit, pattern: matches });
  if (answer !== undefined) {
    return { ok: false, ...(await answerIn({ folder, say }, answer)), want, isRawWant: true, tables };
  }
  // The output of a command that should fail but does not explains nothing.
  const failure = code === exit || code === 0 ? "" : firstLine(stderr.replace(EXEC_FAILED, "")) || firstLine(stdout);
  if (failure !== "") return { ok: false, seen: failure, want, isRawWant: true, tables };
  const shown = code === exit ? said(say, command, stdout + stderr) : seen;
  return { ok: false, seen: shown, want, isRaw: true, isRawWant: true, tables };
}

/** The learner's answer, because without it a wrong answer looks like a file in a wrong place. */
async function answerIn({ folder, say }: Pick<CheckView, "folder" | "say">, file: string): Promise<Seen> {
  const content = await readRegularFile(join(folder, file)).catch(() => undefined);
  if (content === undefined) return { seen: say("answerNone", { file, folder }) };
  const line = shortened(joinLines(content.trim(), ", "));
  if (line === "") return { seen: say("outputEmpty", { name: file }) };
  const answer = say("answerIs", { file, line });
  return HAS_WORDS.test(content.trim()) ? { seen: say("answerAlone", { file, line }), answer } : { seen: answer };
}

/** A line with more than one word, or with Chinese, which has no spaces between words: `about 9 s` for 9. */
const HAS_WORDS = /\S[^\S\n]+\S|\p{Script=Han}/u;

/** @param output the lab's `output`, whose pattern is `matches` */
function outputVerdict(
  { output: name, stream, matches: pattern }: Extract<LeafCheck, { output: string }>,
  { output, say }: Pick<CheckView, "output" | "say">,
): Verdict {
  const result = output(name);
  const want = say("outputWant", { name, pattern });
  if (result === undefined) return { ok: false, seen: say("outputNone", { name }), want, isRawWant: true };
  const found = findInOutput(result, stream, pattern);
  if (found === undefined) {
    return { ok: false, seen: said(say, name, outputOn(result, stream)), want, isRaw: true, isRawWant: true };
  }
  const [line = found] = matchedLines(result, [pattern]);
  const seen = shortened(line.trim().replace(/\s+/g, " "), found.replace(/\s+/g, " "));
  return { ok: true, seen, isPrinted: true, observations: observationOfCommand(result, pattern, seen) };
}

function exitVerdict({ exit: name, is }: Extract<LeafCheck, { exit: string }>, { output, say }: CheckView): Verdict {
  const result = output(name);
  const code = result?.code;
  if (code === undefined) {
    const seen = say(result === undefined ? "outputNone" : "exitNone", { name });
    return { ok: false, seen, want: say("exitWant", { name, code: is }), isRawWant: true };
  }
  const seen = say("exitSeen", { name, code });
  if (code === is) return { ok: true, seen, isRaw: true };
  return { ok: false, seen, want: say("exitWant", { name, code: is }), isRaw: true, isRawWant: true };
}

interface Found {
  /** description of the compared thing */
  readonly what: string;
  /** whether it is an object that can exist; otherwise a value that can be set */
  readonly isThing: boolean;
  /** undefined: missing */
  readonly value: unknown;
  /** replaces "it is not there" if there is more to report */
  readonly why?: string;
  readonly observations: readonly Observation[];
}

async function objectValue(
  { object, field }: Extract<LeafCheck, { object: string }>,
  { client, say }: CheckView,
  signal: AbortSignal,
): Promise<Found> {
  const { status, body } = await client.request({ method: "GET", path: object, signal });
  const isThing = field === undefined;
  const named = pathInWords(object, say);
  const what = isThing ? named : say("fieldOfObject", { field: fieldInWords(field, say), object: named });
  const none = { what, isThing, value: undefined };
  if (status === 404)
    return { ...none, why: say("seenAbsent", { what: named }), observations: observationOfNothing(object) };
  if (status >= 300) return { ...none, why: say("seenStatus", { what: named, status }), observations: [] };
  const value = isThing ? true : fieldOf(body, field);
  return { what, isThing, value, observations: isThing ? observationOf(body) : observationOf(body, field, value) };
}

async function listValue(
  { list, where }: Extract<LeafCheck, { list: string }>,
  { client, say }: CheckView,
  signal: AbortSignal,
): Promise<Found> {
  const answer = await client.request<{ items?: readonly unknown[] }>({ method: "GET", path: list, signal });
  const [path = "", wanted] = (where ?? "").split("==").map((part) => part.trim());
  const all = answer.body.items ?? [];
  const items = all.filter((item) => {
    if (where === undefined) return true;
    const value = fieldOf(item, path);
    return wanted === undefined ? value !== undefined : String(value) === wanted;
  });
  const named = pathInWords(list, say);
  const what =
    where === undefined
      ? say("countOf", { list: named })
      : say("countOfWhere", { list: named, where: [path, wanted].filter((part) => part !== undefined).join(" = ") });
  const observations = observationOfList(list, path, items, all);
  return { what, isThing: false, value: items.length, observations };
}

type Comparison = Pick<
  Extract<LeafCheck, { object: string }>,
  "is" | "isNot" | "matches" | "exists" | "atLeast" | "atMost"
>;

/** Without a comparison, the value must exist. */
function compared(comparison: Comparison, found: Found, say: Say): Verdict {
  const { what, isThing, value } = found;
  const text = value === undefined ? undefined : typeof value === "string" ? value : JSON.stringify(value);
  const { is, isNot, matches, atLeast, atMost } = comparison;
  const isBare = [is, isNot, matches, atLeast, atMost].every((one) => one === undefined);
  const exists = comparison.exists ?? (isBare ? true : undefined);
  const want = (key: Parameters<Say>[0], wanted?: unknown) => say(key, { what, value: String(wanted) });
  const rules: [boolean, () => string][] = [
    [is === undefined || text === String(is), () => want("wantIs", is)],
    [isNot === undefined || text !== String(isNot), () => want("wantIsNot", isNot)],
    [
      matches === undefined || (text !== undefined && new RegExp(matches, "m").test(text)),
      () => want("wantMatches", matches),
    ],
    [
      exists === undefined || (value !== undefined) === exists,
      () => want(isThing ? (exists ? "wantPresent" : "wantAbsent") : exists ? "wantSet" : "wantUnset"),
    ],
    [atLeast === undefined || Number(value) >= atLeast, () => want("wantAtLeast", atLeast)],
    [atMost === undefined || Number(value) <= atMost, () => want("wantAtMost", atMost)],
  ];
  const seen = seenOf(found, text, say);
  const broken = rules.find(([holds]) => !holds);
  const { observations } = found;
  return broken === undefined ? { ok: true, seen, observations } : { ok: false, seen, want: broken[1](), observations };
}

function seenOf({ what, isThing, why }: Found, text: string | undefined, say: Say): string {
  if (text === undefined) return why ?? say(isThing ? "seenAbsent" : "seenUnset", { what });
  return isThing ? say("seenPresent", { what }) : say("seenIs", { what, value: text });
}

async function fileVerdict(check: Extract<LeafCheck, { file: string }>, { folder, say }: CheckView): Promise<Verdict> {
  const { file, matches, mode, exists = true } = check;
  const path = join(folder, file);
  if (isAbsolute(file) || relative(folder, path).startsWith("..")) {
    return { ok: false, seen: say("fileOutside", { file }), want: say("fileInside") };
  }
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !exists) {
    if ((found !== undefined) === exists) {
      return { ok: true, seen: say(exists ? "seenPresent" : "seenAbsent", { what: file }) };
    }
    const seen = exists ? say("answerNone", { file, folder }) : say("seenPresent", { what: file });
    return { ok: false, seen, want: say(exists ? "wantPresent" : "wantAbsent", { what: file }) };
  }
  const bits = (found.mode & 0o777).toString(8).padStart(3, "0");
  const seen = say("fileMode", { file, mode: bits });
  if (mode !== undefined && bits !== mode) return { ok: false, seen, want: say("fileWantMode", { file, mode }) };
  if (matches === undefined) return { ok: true, seen };
  const content = found.isFile() ? await readRegularFile(path) : "";
  const match = new RegExp(matches, "m").exec(content);
  if (match !== null) return { ok: true, seen: say("fileFound", { file, text: match[0] }) };
  const want = say("fileWantText", { file, pattern: matches });
  return { ok: false, seen: said(say, file, content), want, isRawWant: true };
}

const MAX_LINE = 300;

/** Cuts a long line between words. @param match the part to keep, if it fits */
function shortened(line: string, match = ""): string {
  if (line.length <= MAX_LINE) return line;
  const end = line.indexOf(match) + match.length;
  if (end > MAX_LINE && match.length <= MAX_LINE) {
    const before = line.slice(end - MAX_LINE, end).replace(/^\S*\s/, "");
    return `... ${before}${end < line.length ? " ..." : ""}`;
  }
  const start = line.slice(0, MAX_LINE);
  return `${start.slice(0, start.lastIndexOf(" ") + 1 || MAX_LINE).trimEnd()} ...`;
}

/** The first line of a failing program. */
function firstLine(text: string): string {
  return shortened(text.trimStart().split("\n")[0]?.trim() ?? "");
}

/** The last line of an output or a file. */
function said(say: Say, name: string, text: string): string {
  const line = shortened(text.trimEnd().split("\n").at(-1) ?? "");
  return line === "" ? say("outputEmpty", { name }) : say("outputLast", { name, line });
}
