import type { Say } from "./catalogue.js";
import { commandsInText, commandsOf } from "./commands.js";
import { injectionProblems } from "./injection-names.js";
import { actionsOf, outputsAskedFor } from "./references.js";
import type { LabDefinition } from "./schema.js";
import { CLOSING_OF, type LabText } from "./text.js";

/** Something that does not fit together. */
export interface RuleProblem {
  /** what stands in the line that it is about */
  readonly near: string;
  /** where the line is known already */
  readonly line?: number;
  readonly message: string;
}

/** Names that must name something: steps, outputs, injections, choices, variables. Pure. */
export function referenceProblems(lab: LabDefinition, say: Say): readonly RuleProblem[] {
  const problems: RuleProblem[] = [];
  const add = (near: string, message: string) => problems.push({ near, message });
  const seen = new Set<string>();
  for (const step of lab.steps) {
    const near = `id: ${step.id}`;
    if (seen.has(step.id)) add(near, say("labTwoSteps", { id: step.id }));
    seen.add(step.id);
    if ("predict" in step) {
      const missing = step.predict.filter((choice) => step.outcomes[choice] === undefined);
      const unknown = Object.keys(step.outcomes).filter((choice) => !step.predict.includes(choice));
      if (missing.length > 0) add(near, say("labNoOutcome", { id: step.id, names: missing.join(", ") }));
      if (unknown.length > 0) add(near, say("labOutcomeOfNone", { id: step.id, names: unknown.join(", ") }));
    }
  }
  if (lab.cluster === "any" && lab.cleanup.length === 0 && lab.makes === undefined) {
    add("cluster: any", say("labNeedsCleanup"));
  }
  const nodes = Array.from({ length: lab.nodes }, (_, i) => `node-${i + 1}`);
  const kept = actionsOf(lab).flatMap((one) => ("keep" in one ? [one.as] : []));
  const outputs = new Set([...seen, ...nodes, ...kept]);
  for (const name of outputsAskedFor(lab)) {
    if (!outputs.has(name)) add(`: ${name}`, say("labNoOutput", { name }));
  }
  for (const one of actionsOf(lab)) {
    if ("inject" in one) for (const problem of injectionProblems(one.inject, one.with, say)) add(one.inject, problem);
  }
  const used = new Set([...JSON.stringify(lab).matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? ""));
  for (const name of used)
    if (!isVariable(lab, name)) add(`{{${name}}}`, say("labNoVariable", { name: `{{${name}}}` }));
  return problems;
}

/** Variables that every lab has, beside its own. */
const GIVEN_VARIABLES = ["server", "kubeconfig", "folder", "onNode"] as const;
/** Of each node: the addresses of its kubelet's server, of its runtime, and of that one's control. */
const OF_NODE = /^(?:kubelet|runtime|control)(\d)$/;

function isVariable(lab: LabDefinition, name: string): boolean {
  const node = Number(OF_NODE.exec(name)?.[1] ?? 0);
  if (node >= 1 && node <= lab.nodes) return true;
  return lab.vars[name] !== undefined || (GIVEN_VARIABLES as readonly string[]).includes(name);
}

/** What a text must have to belong to its definition. Pure. */
export function textProblems(lab: LabDefinition, text: LabText, markdown: string, say: Say): readonly RuleProblem[] {
  return [
    ...lab.steps.flatMap((step) => stepTextProblems(step, text, say)),
    ...sectionProblems(lab, text, say),
    ...wordProblems(lab, markdown, say),
  ];
}

function stepTextProblems(step: LabDefinition["steps"][number], text: LabText, say: Say): RuleProblem[] {
  const said = text.steps[step.id];
  if (said === undefined) {
    return [{ near: "# ", message: say("labNoSection", { id: step.id }) }];
  }
  const near = `## ${step.id}:`;
  const out: RuleProblem[] = [];
  if (said.body === "") out.push({ near, message: say("labNoText", { id: step.id }) });
  if ("predict" in step) {
    const given = Object.keys(said.choices).sort().join(" ");
    const wanted = [...step.predict].sort().join(" ");
    if (given !== wanted) {
      out.push({ near, message: say("labChoices", { id: step.id, wanted, given: given || "-" }) });
    }
    for (const [choice, words] of Object.entries(said.choices)) {
      if (words.trim() === "")
        out.push({ near: `- ${choice}:`, message: say("labChoiceEmpty", { id: step.id, choice }) });
    }
  }
  if ("check" in step && said.hints.length < 2) {
    out.push({ near, message: say("labTwoHints", { id: step.id }) });
  }
  if (said.hints.some((hint) => hint.trim() === "")) out.push({ near, message: say("labHintEmpty", { id: step.id }) });
  return out;
}

function sectionProblems(lab: LabDefinition, text: LabText, say: Say): RuleProblem[] {
  const ids = new Set(lab.steps.map((step) => step.id));
  const known: readonly string[] = CLOSING_OF[lab.kind];
  return [
    ...Object.keys(text.steps)
      .filter((id) => !ids.has(id))
      .map((id) => ({ near: `## ${id}:`, message: say("labNoStep", { id }) })),
    ...known
      .filter((heading) => (text.closing[heading] ?? "") === "")
      .map((heading) => ({ near: `## ${heading}`, message: say("labNoClosing", { heading }) })),
    ...Object.keys(text.closing)
      .filter((heading) => !known.includes(heading))
      .map((heading) => ({
        near: `## ${heading}`,
        message: say("labUnknownSection", { heading }),
      })),
  ];
}

function wordProblems(lab: LabDefinition, markdown: string, say: Say): RuleProblem[] {
  const out: RuleProblem[] = [];
  for (const match of markdown.matchAll(/\{\{(\w+)\}\}/g)) {
    if (!isVariable(lab, match[1] ?? ""))
      out.push({ near: match[0], message: say("labNoVariable", { name: match[0] }) });
  }
  const real = commandsOf(lab);
  for (const { line, command } of commandsInText(markdown)) {
    // A text may quote a part of a long line, and speak of the walkthrough itself.
    const isReal = command.startsWith("kubelab learn ") || real.some((one) => quotes(one, command));
    if (!isReal) out.push({ near: command, line, message: say("labNeverRuns", { command }) });
  }
  return out;
}

/** Whether a text that shows `part` shows what the lab runs: whole words of it. */
function quotes(whole: string, part: string): boolean {
  const at = whole.indexOf(part);
  return at >= 0 && !/[\w-]/.test(whole[at + part.length] ?? " ");
}
