import type { Language } from "../../util/i18n/language.js";
import { wrap } from "../../util/text/text-width.js";
import type { Stage, Task } from "./task.js";
import { upstreamLines } from "./upstream-links.js";
import { WORDS } from "./words.js";

const MARK = /^\/\/ @stage (\S+)$/gm;
const COLUMNS = 96;

/** The first line of a learner's file names its task. */
const HEADING = /^\/\/ kubelab build: ([a-z][a-z0-9-]*)$/m;

/** The name of the learner's file: a module, whatever package.json is near it. */
export function fileNameOf({ id }: Pick<Task, "id">): string {
  return `${id}.mjs`;
}

/** The task whose file this is; undefined if it does not say so. Pure. */
export function taskOfFile(text: string): string | undefined {
  return HEADING.exec(text)?.[1];
}

/**
 * The file that the learner writes: the task, upstream's functions, and before each part the sentences that it must keep. Pure.
 * @param stub with a line `// @stage ID` before each part
 */
export function workFile(task: Task, stub: string, language: Language): string {
  const words = WORDS[language];
  const head = [
    `kubelab build: ${task.id}`,
    "",
    task.title[language],
    ...wrapped(task.about[language]),
    "",
    words.asUpstream,
    ...upstreamLines(task),
    "",
    ...wrapped(words.howToCheck),
  ];
  const parts = stub.replace(MARK, (_line, id: string) => {
    const at = task.stages.findIndex((one) => one.id === id);
    const stage = task.stages[at];
    return stage === undefined ? "" : stageComment(stage, at + 1, task.stages.length, language);
  });
  return `${commented(head)}\n\n${parts.trim()}\n`;
}

function stageComment(stage: Stage, number: number, count: number, language: Language): string {
  const title = WORDS[language].stageTitle(number, count, stage.title[language]);
  const rules = stage.checks.flatMap(({ says }) => {
    const [first = "", ...others] = wrapped(says[language]);
    return [`- ${first}`, ...others.map((line) => `  ${line}`)];
  });
  return commented(["-".repeat(COLUMNS), title, ...rules]);
}

const wrapped = (text: string) => wrap(text, COLUMNS);

function commented(lines: readonly string[]): string {
  return lines.map((line) => `// ${line}`.trimEnd()).join("\n");
}
