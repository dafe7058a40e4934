import { allTasks } from "../../lab/build/library.js";
import { progressOf } from "../../lab/build/progress.js";
import { hasUnicode } from "../cli/colour.js";
import type { CliContext } from "../cli/context.js";
import { titleTable } from "../learn/standing.js";
import type { BuildFlags } from "./flags.js";
import { openBuild } from "./open.js";
import { COMMAND_WORDS } from "./words.js";

/** The columns that give way on a narrow terminal. */
const [POINTS, MINUTES] = [3, 4];

/** `kubelab build`: the tasks with the learner's progress. */
export async function listTasks(context: CliContext, flags: BuildFlags): Promise<void> {
  const { language, columns, store } = openBuild(context, flags);
  const words = COMMAND_WORDS[language];
  const tasks = await allTasks();
  const progress = await progressOf(store, tasks);
  const all = tasks.map((task, i) => {
    const { done = [], points = 0, mostPoints = 0, hints = 0 } = progress[i] ?? {};
    return { task, done, points, mostPoints, hints };
  });
  const rows = all.map(({ task: { number, id, minutes, title, stages }, done, points, mostPoints }) => [
    String(number),
    id,
    `${done.length}/${stages.length}`,
    `${points}/${mostPoints}`,
    String(minutes),
    title[language],
  ]);
  // A pipe gets whole lines.
  const { isTTY } = context.streams.stdout;
  const fit = isTTY === true ? { columns, mark: hasUnicode(context.env) ? "…" : "..." } : undefined;
  const next = all.find(({ task, done }) => done.length < task.stages.length);
  const last = next === undefined ? words.allDone : words.begin(next.task.id);
  context.print({
    text: [...titleTable([words.columns, ...rows], [MINUTES, POINTS], fit).lines, "", last].join("\n"),
    json: all.map(({ task: { number, id, title, minutes, stages, labs }, ...rest }) => ({
      number,
      id,
      title: title.en,
      minutes,
      labs,
      stages: stages.map((one) => one.id),
      ...rest,
    })),
  });
}
