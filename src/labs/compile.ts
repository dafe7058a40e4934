import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describeFileError } from "../util/files.js";
import { LineCounter, parseDocument } from "../util/yaml.js";
import { commandsInText, commandsOf } from "./commands.js";
import { injectionProblems } from "./injection-names.js";
import type { Lab } from "./lab.js";
import { type Action, type Check, definition, type LabDefinition } from "./schema.js";
import { CLOSING_OF, LANGUAGES, type LabText, type Language, parseLabText } from "./text.js";

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
export async function compileLabs(folder: string): Promise<readonly Compiled[]> {
  const names = (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  const compiled = await Promise.all(names.map((name) => compileLab(join(folder, name))));
  return withoutDoubles(compiled);
}

/** Reads one lab: `lab.yaml`, `en.md`, `zh.md`. All that is wrong is found, each with its line. */
export async function compileLab(folder: string): Promise<Compiled> {
  const problems: LabProblem[] = [];
  const read = async (name: string): Promise<string | undefined> => {
    try {
      return await readFile(join(folder, name), "utf8");
    } catch (error) {
      problems.push({ file: join(folder, name), message: describeFileError(error) });
      return undefined;
    }
  };
  const yaml = await read("lab.yaml");
  const parsed = yaml === undefined ? undefined : parseDefinition(yaml, join(folder, "lab.yaml"), problems);
  if (parsed !== undefined) checkReferences(parsed, folder, problems);
  const text: Partial<Record<Language, LabText>> = {};
  for (const language of LANGUAGES) {
    const file = `${language}.md`;
    const markdown = await read(file);
    if (markdown === undefined) continue;
    const { text: labText, problems: found } = parseLabText(markdown);
    problems.push(...found.map(({ line, message }) => ({ file: join(folder, file), line, message })));
    text[language] = labText;
    if (parsed !== undefined) {
      problems.push(...textProblems(parsed, labText, markdown).map((one) => ({ file: join(folder, file), ...one })));
    }
  }
  const { en, zh } = text;
  if (problems.length > 0 || parsed === undefined || en === undefined || zh === undefined) return { problems };
  const unequal = unequalHints(parsed, en, zh).map((message) => ({ file: join(folder, "zh.md"), message }));
  return unequal.length > 0 ? { problems: unequal } : { lab: { definition: parsed, text: { en, zh } }, problems };
}

/** YAML and schema, each problem with the line of the value it is about. */
function parseDefinition(yaml: string, file: string, problems: LabProblem[]): LabDefinition | undefined {
  const lineCounter = new LineCounter();
  const document = parseDocument(yaml, { lineCounter });
  for (const error of document.errors) {
    problems.push({ file, line: lineCounter.linePos(error.pos[0]).line, message: error.message.split("\n")[0] ?? "" });
  }
  if (document.errors.length > 0) return undefined;
  const result = definition.safeParse(document.toJS());
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const where = issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
    problems.push({ file, line: lineOf(document, lineCounter, issue.path), message: `${where}${issue.message}` });
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

/** Names that must name something: steps, outputs, injections, choices, variables. */
function checkReferences(lab: LabDefinition, folder: string, problems: LabProblem[]): void {
  const add = (message: string) => problems.push({ file: join(folder, "lab.yaml"), message });
  if (!basename(folder).endsWith(`-${lab.id}`)) add(`id: the folder of ${lab.id} is named NN-${lab.id}`);
  const seen = new Set<string>();
  for (const step of lab.steps) {
    if (seen.has(step.id)) add(`steps: two are named ${step.id}`);
    seen.add(step.id);
    if ("predict" in step) {
      const missing = step.predict.filter((choice) => step.outcomes[choice] === undefined);
      const unknown = Object.keys(step.outcomes).filter((choice) => !step.predict.includes(choice));
      if (missing.length > 0) add(`step ${step.id}: no outcome for the choices ${missing.join(", ")}`);
      if (unknown.length > 0) add(`step ${step.id}: outcomes of choices that are none: ${unknown.join(", ")}`);
    }
  }
  const nodes = Array.from({ length: lab.nodes }, (_, i) => `node-${i + 1}`);
  const outputs = new Set([...seen, ...nodes, ...actionsOf(lab).flatMap((one) => ("keep" in one ? [one.as] : []))]);
  for (const name of outputsAskedFor(lab)) if (!outputs.has(name)) add(`${name}: no step or kept command of this name`);
  for (const one of actionsOf(lab)) {
    if ("inject" in one) for (const problem of injectionProblems(one.inject, one.with)) add(problem);
  }
  const used = new Set([...JSON.stringify(lab).matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? ""));
  for (const name of used) if (!isVariable(lab, name)) add(`{{${name}}}: there is no such variable`);
}

/** Variables that every lab has, beside its own. */
export const GIVEN_VARIABLES = ["server", "kubeconfig", "folder"] as const;
/** Of each node: the addresses of its kubelet's server, of its runtime, and of that one's control. */
const OF_NODE = /^(?:kubelet|runtime|control)(\d)$/;

function isVariable(lab: LabDefinition, name: string): boolean {
  const node = Number(OF_NODE.exec(name)?.[1] ?? 0);
  if (node >= 1 && node <= lab.nodes) return true;
  return lab.vars[name] !== undefined || (GIVEN_VARIABLES as readonly string[]).includes(name);
}

export function actionsOf(lab: LabDefinition): readonly Action[] {
  return [
    ...lab.setup,
    ...lab.steps.flatMap((step) => ("predict" in step ? step.run : "solve" in step ? step.solve : [])),
  ];
}

function outputsAskedFor(lab: LabDefinition): string[] {
  const ofCheck = (check: Check): string[] => {
    if ("all" in check) return check.all.flatMap(ofCheck);
    if ("any" in check) return check.any.flatMap(ofCheck);
    if ("not" in check) return ofCheck(check.not);
    if ("output" in check) return [check.output];
    return "exit" in check && !("command" in check) ? [check.exit] : [];
  };
  return [
    ...lab.begin.flatMap(ofCheck),
    ...actionsOf(lab).flatMap((one) => ("wait" in one ? ofCheck(one.wait) : "stop" in one ? [one.stop] : [])),
    ...lab.steps.flatMap((step) => {
      if ("predict" in step) return Object.values(step.outcomes).flatMap(ofCheck);
      if ("observe" in step) return [step.observe];
      if ("check" in step) return ofCheck(step.check);
      return "do" in step && step.expect !== undefined ? ofCheck(step.expect) : [];
    }),
  ];
}

function textProblems(lab: LabDefinition, text: LabText, markdown: string): { line?: number; message: string }[] {
  const out: { line?: number; message: string }[] = [];
  for (const step of lab.steps) {
    const said = text.steps[step.id];
    if (said === undefined) {
      out.push({ message: `no section for step ${step.id}: expected \`## ${step.id}: title\`` });
      continue;
    }
    if (said.body === "") out.push({ message: `step ${step.id} has no text` });
    if ("predict" in step) {
      const given = Object.keys(said.choices).sort().join(" ");
      const wanted = [...step.predict].sort().join(" ");
      if (given !== wanted) out.push({ message: `step ${step.id}: expected the choices ${wanted}, found ${given}` });
    }
    const needsHints = "check" in step;
    if (needsHints && said.hints.length < 2) out.push({ message: `step ${step.id}: a check needs two hints or more` });
    if (said.hints.some((hint) => hint.trim() === "")) out.push({ message: `step ${step.id}: a hint is empty` });
  }
  const ids = new Set(lab.steps.map((step) => step.id));
  for (const id of Object.keys(text.steps)) if (!ids.has(id)) out.push({ message: `there is no step ${id}` });
  for (const heading of CLOSING_OF[lab.kind]) {
    if ((text.closing[heading] ?? "") === "") out.push({ message: `no section \`## ${heading}\`` });
  }
  const known: readonly string[] = CLOSING_OF[lab.kind];
  for (const heading of Object.keys(text.closing)) {
    if (!known.includes(heading)) out.push({ message: `unknown section ${heading}: expected \`step-id: title\`` });
  }
  for (const match of markdown.matchAll(/\{\{(\w+)\}\}/g)) {
    if (!isVariable(lab, match[1] ?? "")) out.push({ message: `${match[0]}: there is no such variable` });
  }
  const real = commandsOf(lab);
  for (const { line, command } of commandsInText(markdown)) {
    // A text may quote a part of a long line, and speak of the walkthrough itself.
    const isReal = command.startsWith("kubelab learn ") || real.some((one) => quotes(one, command));
    if (!isReal) out.push({ line, message: `the lab never runs \`${command}\`` });
  }
  return out;
}

/** Whether a text that shows `part` shows what the lab runs: whole words of it. */
function quotes(whole: string, part: string): boolean {
  const at = whole.indexOf(part);
  return at >= 0 && !/[\w-]/.test(whole[at + part.length] ?? " ");
}

function unequalHints(lab: LabDefinition, en: LabText, zh: LabText): string[] {
  return lab.steps.flatMap(({ id }) => {
    const [first, second] = [en.steps[id]?.hints.length, zh.steps[id]?.hints.length];
    return first === second ? [] : [`step ${id} has ${second} hints, in English ${first}`];
  });
}

/** A lab whose id another one has too is none: progress is kept by id. */
function withoutDoubles(compiled: readonly Compiled[]): readonly Compiled[] {
  const ids = new Set<string>();
  return compiled.map((one) => {
    const id = one.lab?.definition.id;
    if (id === undefined) return one;
    if (!ids.has(id)) {
      ids.add(id);
      return one;
    }
    return { problems: [{ file: id, message: `a second lab with the id ${id}` }] };
  });
}
