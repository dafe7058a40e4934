import { allTasks } from "../../lab/build/library.js";
import { progressOf } from "../../lab/build/progress.js";
import { wrappedTable } from "../../trace/terminal/table.js";
import type { CliContext } from "../cli/context.js";
import type { BuildFlags } from "./flags.js";
import { openBuild } from "./open.js";
import { COMMAND_WORDS } from "./words.js";

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
  const next = all.find(({ task, done }) => done.length < task.stages.length);
  const last = next === undefined ? words.allDone : words.begin(next.task.id);
  context.print({
    text: [...wrappedTable({ columns: words.columns, rows }, columns), "", last].join("\n"),
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
