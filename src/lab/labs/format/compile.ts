import { readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { printable } from "../../../trace/terminal/text.js";
import { defined } from "../../../util/defined.js";
import { type Say, sayIn } from "../../../util/i18n/catalogue.js";
import { fileErrorMessage } from "../../../util/i18n/file-error.js";
import { LANGUAGES, type Language } from "../../../util/i18n/language.js";
import { formatMessage } from "../../../util/i18n/message-error.js";
import { readRegularFile } from "../../../util/os/read-at-most.js";
import { isRecord } from "../../../util/records.js";
import { parseChecked } from "./checked-yaml.js";
import type { Lab } from "./lab.js";
import { outlineOf } from "./outline.js";
import { commandProblems, type RuleProblem, referenceProblems, textProblems, translationProblems } from "./rules.js";
import { definition } from "./schema.js";
import { type LabText, parseLabText } from "./text.js";

export interface LabProblem {
  /** `labs/01-heartbeats/lab.yaml` */
  readonly file: string;
  /** counted from 1; undefined: the whole file */
  readonly line?: number;
  readonly message: string;
}

/** The names of a lab, which must be unique. */
type LabName = "id" | "number";

export interface Compiled {
  /** undefined if there are problems */
  readonly lab?: Lab;
  /** by file and line */
  readonly problems: readonly LabProblem[];
  /** the readable part, with line numbers */
  readonly names: Readonly<Partial<Record<LabName, { readonly value: string; readonly line?: number }>>>;
  readonly folder: string;
}

export interface CompileOptions {
  /** language of the problems; default: English */
  readonly say?: Say;
  /** the commands of kubelab; default: not checked */
  readonly commands?: readonly string[];
}

const FILES = ["lab.yaml", ...LANGUAGES.map((language) => `${language}.md`)];

/** Whether a folder contains a lab, complete or not. @throws the file system's error for the folder */
export async function isLab(folder: string): Promise<boolean> {
  return (await readdir(folder)).some((name) => FILES.includes(name));
}

/**
 * Reads all labs of a folder, ordered by folder name. Skips folders whose names begin with a dot. Reports no problems
 * if no folder contains a lab.
 * @throws the file system's error for the folder itself
 */
export async function compileLabs(folder: string, options: CompileOptions = {}): Promise<readonly Compiled[]> {
  const { say = sayIn("en") } = options;
  const names = (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name)
    .sort();
  const holdsLab = await Promise.all(names.map((name) => isLab(join(folder, name)).catch(() => true)));
  if (!holdsLab.includes(true)) return [];
  const compiled = await Promise.all(names.map((name) => compileLab(join(folder, name), options)));
  return withoutDoubles(compiled, say);
}

/** Reads one lab: `lab.yaml`, `en.md`, `zh.md`. Finds all problems, each with its line. */
export async function compileLab(folder: string, options: CompileOptions = {}): Promise<Compiled> {
  const { say = sayIn("en"), commands } = options;
  const problems: LabProblem[] = [];
  const contents = new Map<string, string>();
  const add = (name: string, found: readonly (Omit<LabProblem, "file"> | RuleProblem)[]) =>
    problems.push(...found.map((one) => located(one, contents.get(name) ?? "", join(folder, name))));
  if (!(await isLab(folder).catch(() => true))) {
    return { problems: [{ file: folder, message: say("labNone") }], names: {}, folder };
  }
  for (const name of FILES) {
    try {
      contents.set(name, (await readRegularFile(join(folder, name))).replaceAll("\r\n", "\n"));
    } catch (error) {
      problems.push({ file: join(folder, name), message: formatMessage(fileErrorMessage(error), say) });
    }
  }
  const hidden = [...contents].flatMap(([name, text]) => controlProblems(text, join(folder, name), say));
  // Before any message quotes such a text.
  if (hidden.length > 0) return { problems: hidden, names: {}, folder };
  const yaml = contents.get("lab.yaml");
  const parsed = yaml === undefined ? undefined : parseChecked(yaml, definition, say);
  if (hasControl(parsed?.source)) {
    return { problems: [{ file: join(folder, "lab.yaml"), message: say("labControl") }], names: {}, folder };
  }
  const outline = outlineOf(parsed?.source);
  add("lab.yaml", parsed?.problems ?? []);
  if (parsed?.value !== undefined && !isNamedAfter(basename(resolve(folder)), parsed.value.id)) {
    add("lab.yaml", [{ near: "id:", message: say("labFolderName", { id: parsed.value.id }) }]);
  }
  if (outline !== undefined) {
    add("lab.yaml", referenceProblems(outline, say));
    if (commands !== undefined) add("lab.yaml", commandProblems(outline, commands, say));
  }
  const text: Partial<Record<Language, LabText>> = {};
  for (const language of LANGUAGES) {
    const file = `${language}.md`;
    const markdown = contents.get(file);
    if (markdown === undefined) continue;
    const { text: labText, problems: found } = parseLabText(markdown, say);
    add(file, found);
    text[language] = labText;
    if (outline !== undefined) add(file, textProblems(outline, labText, markdown, say));
  }
  const { en, zh } = text;
  if (outline !== undefined && en !== undefined && zh !== undefined) {
    add("zh.md", translationProblems(outline, en, zh, say));
  }
  const common = { problems: sorted(problems), names: namesIn(parsed?.source, yaml ?? ""), folder };
  if (problems.length > 0 || parsed?.value === undefined || en === undefined || zh === undefined) return common;
  return { ...common, lab: { definition: parsed.value, text: { en, zh } } };
}

/** The first line with a control character, which could rule the learner's terminal. */
function controlProblems(text: string, file: string, say: Say): LabProblem[] {
  const line = text.split("\n").findIndex((one) => hasControl(one)) + 1;
  return line === 0 ? [] : [{ file, line, message: say("labControl") }];
}

/** Whether a text in a parsed file has one, written as an escape: `"\e[2J"`. */
function hasControl(value: unknown): boolean {
  if (typeof value === "string") return printable(value) !== value;
  if (Array.isArray(value)) return value.some(hasControl);
  return isRecord(value) && Object.entries(value).some(([key, one]) => hasControl(key) || hasControl(one));
}

/** `heartbeats`, or `01-heartbeats` */
function isNamedAfter(folder: string, id: string): boolean {
  return folder === id || folder.endsWith(`-${id}`);
}

/** A problem with its given line, or else with the first line that contains its subject. */
function located(problem: Omit<LabProblem, "file"> | RuleProblem, content: string, file: string): LabProblem {
  const line = problem.line ?? ("near" in problem ? lineWith(content, problem.near) : undefined);
  return { file, message: problem.message, ...defined({ line }) };
}

/** The first line that contains `part`, counted from 1. */
function lineWith(content: string, part: string): number | undefined {
  const index = content.split("\n").findIndex((line) => line.includes(part));
  return index < 0 ? undefined : index + 1;
}

/** Sorts by file and line, without repetitions. */
function sorted(problems: readonly LabProblem[]): readonly LabProblem[] {
  const different = new Map(problems.map((one) => [`${one.file}:${one.line}: ${one.message}`, one]));
  return [...different.values()].sort((a, b) =>
    a.file === b.file ? (a.line ?? 0) - (b.line ?? 0) : a.file < b.file ? -1 : 1,
  );
}

function namesIn(source: unknown, yaml: string): Compiled["names"] {
  if (!isRecord(source)) return {};
  const found = (["id", "number"] as const).flatMap((name) => {
    const value = source[name];
    if (typeof value !== "string") return [];
    const line = yaml.split("\n").findIndex((one) => one.startsWith(`${name}:`)) + 1;
    return [[name, { value, ...(line === 0 ? {} : { line }) }] as const];
  });
  return Object.fromEntries(found);
}

/** Rejects labs that share an id or number, because progress and menus refer to labs by these. */
function withoutDoubles(compiled: readonly Compiled[], say: Say): readonly Compiled[] {
  const first = new Map<string, Compiled>();
  return compiled.map((one) => {
    const doubles = Object.entries(one.names).flatMap(([name, { value, line }]) => {
      const other = first.get(`${name} ${value}`);
      if (other === undefined) {
        first.set(`${name} ${value}`, one);
        return [];
      }
      const message = say(name === "id" ? "labSecondId" : "labSecondNumber", {
        value,
        other: basename(other.folder),
      });
      return [located({ message, ...defined({ line }) }, "", join(one.folder, "lab.yaml"))];
    });
    if (doubles.length === 0) return one;
    const { lab: _lab, ...rest } = one;
    return { ...rest, problems: sorted([...one.problems, ...doubles]) };
  });
}
