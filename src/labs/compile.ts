import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { LineCounter, parseDocument } from "../util/yaml.js";
import { type Say, sayIn } from "./catalogue.js";
import { fileErrorWords } from "./file-error.js";
import { issueWords } from "./issue-words.js";
import type { Lab } from "./lab.js";
import { referenceProblems, textProblems } from "./rules.js";
import { spoken } from "./said-error.js";
import { definition, type LabDefinition } from "./schema.js";
import { LANGUAGES, type LabText, type Language, parseLabText } from "./text.js";
import { inWords } from "./worded.js";

export interface LabProblem {
  /** `labs/01-heartbeats/lab.yaml` */
  readonly file: string;
  /** counted from 1; undefined: the file as a whole */
  readonly line?: number;
  readonly message: string;
}

export interface Compiled {
  /** undefined when something is wrong */
  readonly lab?: Lab;
  readonly problems: readonly LabProblem[];
}

/** Reads all labs of a folder, in the order of their folders' names. @throws the file system's error for the folder itself */
export async function compileLabs(folder: string, say = sayIn("en")): Promise<readonly Compiled[]> {
  const names = (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  const compiled = await Promise.all(names.map((name) => compileLab(join(folder, name), say)));
  return withoutDoubles(compiled, say);
}

/** Reads one lab: `lab.yaml`, `en.md`, `zh.md`. All that is wrong is found, each with its line. */
export async function compileLab(folder: string, say = sayIn("en")): Promise<Compiled> {
  const problems: LabProblem[] = [];
  const read = async (name: string): Promise<string | undefined> => {
    try {
      return await readFile(join(folder, name), "utf8");
    } catch (error) {
      problems.push({ file: join(folder, name), message: spoken(fileErrorWords(error), say) });
      return undefined;
    }
  };
  const yaml = await read("lab.yaml");
  const parsed = yaml === undefined ? undefined : parseDefinition(yaml, join(folder, "lab.yaml"), problems, say);
  if (parsed !== undefined && yaml !== undefined) {
    const file = join(folder, "lab.yaml");
    const name = basename(folder);
    if (!name.endsWith(`-${parsed.id}`)) {
      problems.push({
        file,
        line: lineWith(yaml, "id:") ?? 1,
        message: say("labFolderName", { id: parsed.id }),
      });
    }
    problems.push(...located(referenceProblems(parsed, say), yaml, file));
  }
  const text: Partial<Record<Language, LabText>> = {};
  for (const language of LANGUAGES) {
    const file = `${language}.md`;
    const markdown = await read(file);
    if (markdown === undefined) continue;
    const { text: labText, problems: found } = parseLabText(markdown, say);
    problems.push(...found.map(({ line, message }) => ({ file: join(folder, file), line, message })));
    text[language] = labText;
    if (parsed !== undefined) {
      problems.push(...located(textProblems(parsed, labText, markdown, say), markdown, join(folder, file)));
    }
  }
  const { en, zh } = text;
  if (problems.length > 0 || parsed === undefined || en === undefined || zh === undefined) return { problems };
  const unequal = unequalHints(parsed, en, zh, say).map((message) => ({ file: join(folder, "zh.md"), message }));
  return unequal.length > 0 ? { problems: unequal } : { lab: { definition: parsed, text: { en, zh } }, problems };
}

/** Problems with the line in which what they are about stands first. */
function located(
  problems: readonly { readonly near: string; readonly line?: number; readonly message: string }[],
  content: string,
  file: string,
): LabProblem[] {
  return problems.map(({ near, line = lineWith(content, near), message }) => ({
    file,
    message,
    ...(line === undefined ? {} : { line }),
  }));
}

/** The first line that has `part`, counted from 1. */
function lineWith(content: string, part: string): number | undefined {
  const index = content.split("\n").findIndex((line) => line.includes(part));
  return index < 0 ? undefined : index + 1;
}

/** YAML and schema, each problem with the line of the value it is about. */
function parseDefinition(yaml: string, file: string, problems: LabProblem[], say: Say): LabDefinition | undefined {
  const lineCounter = new LineCounter();
  const document = parseDocument(yaml, { lineCounter });
  for (const error of document.errors) {
    const detail = (error.message.split("\n")[0] ?? error.code).replace(/ at line \d+, column \d+:?$/, "");
    problems.push({ file, line: lineCounter.linePos(error.pos[0]).line, message: say("labNoYaml", { detail }) });
  }
  if (document.errors.length > 0) return undefined;
  const result = definition.safeParse(document.toJS(), { error: issueWords });
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const where = issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
    problems.push({
      file,
      line: lineOf(document, lineCounter, issue.path),
      message: `${where}${inWords(issue.message, say)}`,
    });
  }
  return undefined;
}

type Document = ReturnType<typeof parseDocument>;

/** Of the value itself, or of the nearest one around it that is there. */
function lineOf(document: Document, lineCounter: LineCounter, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as { range?: readonly number[] } | undefined;
    if (node?.range?.[0] !== undefined) return lineCounter.linePos(node.range[0]).line;
  }
  return 1;
}

function unequalHints(lab: LabDefinition, en: LabText, zh: LabText, say: Say): string[] {
  return lab.steps.flatMap(({ id }) => {
    const [first, second] = [en.steps[id]?.hints.length, zh.steps[id]?.hints.length];
    return first === second ? [] : [say("labUnequalHints", { id, zh: second ?? 0, en: first ?? 0 })];
  });
}

/** A lab whose id another one has too is none: progress is kept by id. */
function withoutDoubles(compiled: readonly Compiled[], say: Say): readonly Compiled[] {
  const ids = new Set<string>();
  return compiled.map((one) => {
    const id = one.lab?.definition.id;
    if (id === undefined) return one;
    if (!ids.has(id)) {
      ids.add(id);
      return one;
    }
    return { problems: [{ file: id, message: say("labSecondId", { id }) }] };
  });
}
