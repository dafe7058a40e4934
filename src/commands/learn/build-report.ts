import { taskProgress } from "../../lab/build/progress.js";
import type { Task } from "../../lab/build/task.js";
import type { Progress } from "../../lab/labs/progress/progress.js";
import type { Say } from "../../util/i18n/catalogue.js";
import { wrap } from "../../util/text/text-width.js";

/** The line of a report about the tasks of `kubelab build`; none if none was begun. @param options columns of the terminal, default: lines are whole */
export function buildInWords(
  tasks: readonly Task[],
  progress: Progress,
  say: Say,
  { columns }: { readonly columns?: number },
): readonly string[] {
  const all = buildReport(tasks, progress);
  if (!all.some(({ begun }) => begun)) return [];
  const sum = (field: "stages" | "stagesDone" | "points" | "mostPoints") =>
    all.reduce((total, one) => total + one[field], 0);
  const counts = { done: sum("stagesDone"), stages: sum("stages"), points: sum("points"), most: sum("mostPoints") };
  const line = say("reportBuild", { ...counts, command: "kubelab build" });
  return columns === undefined ? [line] : wrap(line, columns);
}

/** The tasks of `kubelab build`, for a teacher's program: one entry per task. */
export function buildReport(tasks: readonly Task[], progress: Progress) {
  return tasks.map((task) => {
    const { isBegun, done, shown, hints, points, mostPoints } = taskProgress(task, progress);
    const { id, number, title, stages } = task;
    const counts = { stages: stages.length, stagesDone: done.length, stagesShown: shown };
    return { id, number, title: title.en, begun: isBegun, ...counts, hints, points, mostPoints };
  });
}
