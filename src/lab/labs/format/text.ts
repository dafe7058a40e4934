import type { Say } from "../../../util/i18n/catalogue.js";
import { joinLines } from "../../../util/text/linear-text.js";

/** A lab's text about one step, in one language. Markdown, with `{{variable}}`. */
export interface StepText {
  readonly title: string;
  readonly body: string;
  /** by choice; only for a prediction */
  readonly choices: Readonly<Record<string, string>>;
  /** ordered from a nudge to the answer */
  readonly hints: readonly string[];
  /** the state when the step is done, in one sentence: the verdict of its check. "": the check reports what it saw */
  readonly goal: string;
  /** why an answer is wrong, by the mistake's id or, for a prediction, by choice */
  readonly mistakes: Readonly<Record<string, string>>;
  /** shown when the step is done */
  readonly afterwards: string;
}

/** A lab's text in one language. */
export interface LabText {
  readonly title: string;
  /** one sentence for lists */
  readonly summary: string;
  readonly introduction: string;
  readonly steps: Readonly<Record<string, StepText>>;
  /** an incident's card: symptom, tools, cause, cure, source; a chapter has `debrief`; both can have `known` */
  readonly closing: Readonly<Record<string, string>>;
}

export const CLOSING_OF = {
  chapter: ["debrief"],
  incident: ["symptom", "tools", "cause", "cure", "source"],
} as const;

/** An optional closing section: a list of three lines on what the learner now knows. */
export const KNOWN = "known";
export const KNOWN_LINES = 3;

export interface TextProblem {
  /** counted from 1 */
  readonly line: number;
  readonly message: string;
}

interface Section {
  readonly line: number;
  readonly heading: string;
  readonly body: string;
}

/**
 * Reads a lab's Markdown:
 *
 * ```
 * # Title
 * Summary, one paragraph.
 *
 * Introduction ...
 *
 * ## step-id: Title of the step
 * Text ...
 * ### choices      - a: text
 * ### hints        1. text
 * ### goal         text
 * ### mistakes     - id or choice: text
 * ### afterwards   text
 *
 * ## debrief
 * Text ...
 *
 * ## known
 * - what the learner now knows, in three lines
 * ``` Pure. Problems are returned, not thrown, because a writer wants all of them.
 */
export function parseLabText(
  markdown: string,
  say: Say,
): { readonly text: LabText; readonly problems: readonly TextProblem[] } {
  const problems: TextProblem[] = joinedBlocks(markdown, say);
  const [top, ...sections] = split(markdown, "## ");
  const { title, summary, introduction } = parseTop(top, problems, say);
  const steps: Record<string, StepText> = {};
  const closing: Record<string, string> = {};
  for (const section of sections) {
    const match = /^([a-z0-9-]+):\s+(.+)$/.exec(section.heading);
    if (match === null) closing[section.heading.trim()] = section.body.trim();
    else if (steps[match[1] ?? ""] !== undefined)
      problems.push({ line: section.line, message: say("labSecondSection", { id: match[1] ?? "" }) });
    else steps[match[1] ?? ""] = parseStep(match[2] ?? "", section, problems, say);
  }
  return { text: { title, summary, introduction, steps, closing }, problems };
}

const ITEM = /^(?:[-*]|\d+\.)\s+\S/;

/** Lists and tables that a terminal would show as running text: a list without an empty line before it, and any table. */
function joinedBlocks(markdown: string, say: Say): TextProblem[] {
  const problems: TextProblem[] = [];
  let inside: "nothing" | "paragraph" | "list" | "code" = "nothing";
  markdown.split("\n").forEach((text, i) => {
    const line = i + 1;
    if (text.startsWith("```")) inside = inside === "code" ? "nothing" : "code";
    else if (inside === "code") return;
    else if (text.trim() === "" || text.startsWith("#")) inside = "nothing";
    else if (/^\s*\|/.test(text)) problems.push({ line, message: say("labTable") });
    else if (inside === "nothing") inside = ITEM.test(text) ? "list" : "paragraph";
    else if (inside === "paragraph" && ITEM.test(text)) {
      problems.push({ line, message: say("labJoinedList") });
      inside = "list";
    }
  });
  return problems;
}

function parseTop(top: Section | undefined, problems: TextProblem[], say: Say) {
  const match = /^# (.+)\n+([\s\S]*)$/.exec(top?.body.trimStart() ?? "");
  if (match === null) {
    problems.push({ line: 1, message: say("labTitleMissing") });
    return { title: "", summary: "", introduction: "" };
  }
  const [summary = "", ...rest] = (match[2] ?? "").trim().split(/\n{2,}/);
  if (summary === "") problems.push({ line: 2, message: say("labSummaryMissing") });
  return { title: match[1] ?? "", summary: summary.replaceAll("\n", " "), introduction: rest.join("\n\n") };
}

function parseStep(title: string, section: Section, problems: TextProblem[], say: Say): StepText {
  const [body, ...parts] = split(section.body, "### ");
  const step = {
    title,
    body: body?.body.trim() ?? "",
    choices: {},
    hints: [] as string[],
    goal: "",
    mistakes: {},
    afterwards: "",
  };
  for (const part of parts) {
    const line = section.line + part.line;
    switch (part.heading.trim()) {
      case "choices":
        step.choices = Object.fromEntries(items(part.body, NAMED));
        break;
      case "mistakes":
        step.mistakes = Object.fromEntries(items(part.body, NAMED));
        break;
      case "hints":
        step.hints = items(part.body, /^(\d+)\.(?:\s+|$)/).map(([, hint]) => hint);
        break;
      case "goal":
        step.goal = joinLines(part.body.trim(), " ");
        break;
      case "afterwards":
        step.afterwards = part.body.trim();
        break;
      default:
        problems.push({ line, message: say("labUnknownHeading", { heading: part.heading }) });
    }
  }
  return step;
}

const NAMED = /^- ([a-z0-9-]+):(?:\s+|$)/;

/** A list's items, each with its marker; indented lines continue an item. */
function items(body: string, mark: RegExp): [string, string][] {
  const out: [string, string][] = [];
  for (const line of body.split("\n")) {
    const match = mark.exec(line);
    const last = out.at(-1);
    if (match !== null) out.push([match[1] ?? "", line.slice(match[0].length).trim()]);
    else if (last !== undefined && line.trim() !== "") last[1] += `\n${line.trim()}`;
  }
  return out;
}

/** Splits at headings of one level, ignoring fenced code. The first part is the text before the first heading. */
function split(markdown: string, mark: string): Section[] {
  const out: { line: number; heading: string; body: string }[] = [{ line: 0, heading: "", body: "" }];
  let isFenced = false;
  markdown.split("\n").forEach((line, i) => {
    if (line.startsWith("```")) isFenced = !isFenced;
    const last = out.at(-1);
    if (!isFenced && line.startsWith(mark)) out.push({ line: i + 1, heading: line.slice(mark.length), body: "" });
    else if (last !== undefined) last.body += `${line}\n`;
  });
  return out;
}
