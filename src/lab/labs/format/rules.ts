import type { Say } from "../../../util/i18n/catalogue.js";
import { commandsInText, commandsOf } from "./commands.js";
import { injectionProblems } from "./injection-names.js";
import type { LabOutline, StepOutline } from "./outline.js";
import { injectionsIn, keptIn, outputsAskedFor } from "./references.js";
import { CLOSING_OF, KNOWN, KNOWN_LINES, type LabText } from "./text.js";

/** An inconsistency. */
export interface RuleProblem {
  /** text in the line of the problem */
  readonly near: string;
  /** the line, if known */
  readonly line?: number;
  readonly message: string;
}

/** Checks references to steps, outputs, injections, choices and variables. Pure. */
export function referenceProblems(lab: LabOutline, say: Say): readonly RuleProblem[] {
  const problems: RuleProblem[] = [];
  const add = (near: string, message: string) => problems.push({ near, message });
  const seen = new Set<string>();
  for (const { id, choices, outcomes = [], mistakes, hasAnswer } of lab.steps) {
    const near = `id: ${id}`;
    if (mistakes !== undefined && !hasAnswer) add(near, say("labMistakesOfNone", { id }));
    if (seen.has(id)) add(near, say("labTwoSteps", { id }));
    seen.add(id);
    if (choices === undefined) continue;
    const missing = choices.filter((choice) => !outcomes.includes(choice));
    const unknown = outcomes.filter((choice) => !choices.includes(choice));
    if (missing.length > 0) add(near, say("labNoOutcome", { id, names: missing.join(", ") }));
    if (unknown.length > 0) add(near, say("labOutcomeOfNone", { id, names: unknown.join(", ") }));
  }
  if (lab.leavesThings) add("cluster: any", say("labNeedsCleanup"));
  if (lab.lacksApiServerNode) add("apiServerPod", say("labNeedsApiServerNode"));
  const nodes = Array.from({ length: lab.nodes }, (_, i) => `node-${i + 1}`);
  const outputs = new Set([...seen, ...nodes, ...keptIn(lab.source)]);
  for (const name of lab.isWhole ? outputsAskedFor(lab.source) : []) {
    if (!outputs.has(name)) add(`: ${name}`, say("labNoOutput", { name }));
  }
  for (const { name, given } of injectionsIn(lab.source)) {
    for (const problem of injectionProblems(name, given, say)) add(name, problem);
  }
  const used = new Set([...JSON.stringify(lab.source).matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? ""));
  for (const name of used)
    if (!isVariable(lab, name)) add(`{{${name}}}`, say("labNoVariable", { name: `{{${name}}}` }));
  return problems;
}

/** Checks that kubelab has the commands of the lab. Pure. @param known the commands of kubelab */
export function commandProblems(lab: LabOutline, known: readonly string[], say: Say): readonly RuleProblem[] {
  const named = commandsOf(lab.source).flatMap((line) => [...line.matchAll(KUBELAB_COMMAND)]);
  const names = new Set(named.map((match) => match[1] ?? ""));
  return [...names]
    .filter((name) => !known.includes(name))
    .map((name) => ({ near: `kubelab ${name}`, message: say("labUnknownCommand", { name, names: known.join(", ") }) }));
}

/** Matches `kubelab` at the beginning of a command in a shell line. */
const KUBELAB_COMMAND = /(?:^|[;&|(]\s*)kubelab ([a-z][\w-]*)/gm;

/** The variables that every lab has in addition to its own. */
const GIVEN_VARIABLES = ["server", "kubeconfig", "folder", "onNode", "kubeVersion"] as const;
/** The variables of each node: addresses of its kubelet's server, of its runtime, and of the control APIs of runtime and link. */
const OF_NODE = /^(?:kubelet|runtime|control|link)(\d)$/;

function isVariable(lab: LabOutline, name: string): boolean {
  const node = Number(OF_NODE.exec(name)?.[1] ?? 0);
  if (node >= 1 && node <= lab.nodes) return true;
  return lab.vars.includes(name) || (GIVEN_VARIABLES as readonly string[]).includes(name);
}

/** Checks that a text matches its definition. Pure. */
export function textProblems(lab: LabOutline, text: LabText, markdown: string, say: Say): readonly RuleProblem[] {
  return [
    ...lab.steps.flatMap((step) => stepTextProblems(step, text, say)),
    ...sectionProblems(lab, text, say),
    ...wordProblems(lab, markdown, say),
  ];
}

function stepTextProblems(step: StepOutline, text: LabText, say: Say): RuleProblem[] {
  const said = text.steps[step.id];
  if (said === undefined) {
    return [{ near: "# ", message: say("labNoSection", { id: step.id }) }];
  }
  const near = `## ${step.id}:`;
  const out: RuleProblem[] = [];
  if (said.body === "") out.push({ near, message: say("labNoText", { id: step.id }) });
  const named = [
    ...(step.choices === undefined ? [] : [["labChoices", step.choices, said.choices] as const]),
    // A prediction's are choices, and need no names in the definition.
    ...(step.choices === undefined ? [["labMistakes", step.mistakes ?? [], said.mistakes] as const] : []),
  ];
  for (const choice of Object.keys(step.choices === undefined ? {} : said.mistakes)) {
    if (step.choices?.includes(choice) === false)
      out.push({ near: `- ${choice}:`, message: say("labMistakeOfNone", { id: step.id, choice }) });
  }
  for (const [key, names, texts] of named) {
    const given = namesOf(texts);
    const wanted = [...names].sort().join(" ") || "-";
    if (given !== wanted) out.push({ near, message: say(key, { id: step.id, wanted, given }) });
    for (const [name, words] of Object.entries(texts)) {
      if (words.trim() === "")
        out.push({ near: `- ${name}:`, message: say("labChoiceEmpty", { id: step.id, choice: name }) });
    }
  }
  if (step.isCheck && said.hints.length < 2) {
    out.push({ near, message: say("labTwoHints", { id: step.id }) });
  }
  if (step.isCheck && said.goal === "") out.push({ near, message: say("labNoGoal", { id: step.id }) });
  if (said.hints.some((hint) => hint.trim() === "")) out.push({ near, message: say("labHintEmpty", { id: step.id }) });
  return out;
}

function namesOf(texts: Readonly<Record<string, string>>): string {
  return Object.keys(texts).sort().join(" ") || "-";
}

/** Reports what the second language lacks or adds compared with the first. Pure. */
export function translationProblems(lab: LabOutline, en: LabText, zh: LabText, say: Say): readonly RuleProblem[] {
  const isKnownInOne = KNOWN in en.closing !== KNOWN in zh.closing;
  const known = isKnownInOne ? [{ near: `## ${KNOWN}`, message: say("labUnequalKnown") }] : [];
  const steps = lab.steps.flatMap(({ id }) => {
    const [first, second] = [en.steps[id], zh.steps[id]];
    if (first === undefined || second === undefined) return [];
    const near = `## ${id}:`;
    const counts = { id, zh: second.hints.length, en: first.hints.length };
    return [
      ...(counts.zh === counts.en ? [] : [{ near, message: say("labUnequalHints", counts) }]),
      ...((first.afterwards === "") === (second.afterwards === "")
        ? []
        : [{ near, message: say("labUnequalAfterwards", { id }) }]),
      ...((first.goal === "") === (second.goal === "") ? [] : [{ near, message: say("labUnequalGoal", { id }) }]),
      ...(namesOf(first.mistakes) === namesOf(second.mistakes)
        ? []
        : [
            {
              near,
              message: say("labMistakes", { id, wanted: namesOf(first.mistakes), given: namesOf(second.mistakes) }),
            },
          ]),
    ];
  });
  return [...steps, ...known];
}

function sectionProblems(lab: LabOutline, text: LabText, say: Say): RuleProblem[] {
  const ids = new Set(lab.steps.map((step) => step.id));
  const unknownSteps = lab.isWhole ? Object.keys(text.steps).filter((id) => !ids.has(id)) : [];
  const known: readonly string[] | undefined = lab.kind === undefined ? undefined : CLOSING_OF[lab.kind];
  return [
    ...unknownSteps.map((id) => ({ near: `## ${id}:`, message: say("labNoStep", { id }) })),
    ...(known ?? [])
      .filter((heading) => (text.closing[heading] ?? "") === "")
      .map((heading) => ({ near: `## ${heading}`, message: say("labNoClosing", { heading }) })),
    ...Object.keys(text.closing)
      .filter((heading) => heading !== KNOWN && known?.includes(heading) === false)
      .map((heading) => ({
        near: `## ${heading}`,
        message: say("labUnknownSection", { heading }),
      })),
    ...(KNOWN in text.closing && linesOf(text.closing[KNOWN] ?? "") !== KNOWN_LINES
      ? [{ near: `## ${KNOWN}`, message: say("labKnownLines", { count: KNOWN_LINES }) }]
      : []),
  ];
}

/** The items of a list; 0 for any other text. */
function linesOf(markdown: string): number {
  return markdown.startsWith("- ") ? markdown.split(/^- /m).length - 1 : 0;
}

function wordProblems(lab: LabOutline, markdown: string, say: Say): RuleProblem[] {
  const out: RuleProblem[] = [];
  for (const match of markdown.matchAll(/\{\{(\w+)\}\}/g)) {
    if (!isVariable(lab, match[1] ?? ""))
      out.push({ near: match[0], message: say("labNoVariable", { name: match[0] }) });
  }
  const real = commandsOf(lab.source);
  for (const { line, command } of commandsInText(markdown)) {
    // A text may quote part of a long line, and mention the walkthrough itself.
    const isReal = command.startsWith("kubelab learn ") || real.some((one) => quotes(one, command));
    if (!isReal) out.push({ near: command, line, message: say("labNeverRuns", { command }) });
  }
  return out;
}

/** Whether `part` of a text quotes whole words of a line that the lab runs. */
function quotes(whole: string, part: string): boolean {
  const at = whole.indexOf(part);
  return at >= 0 && !/[\w-]/.test(whole[at + part.length] ?? " ");
}
