import type { LabProgress, Progress } from "../labs/progress/progress.js";
import type { ProgressStore } from "../labs/progress/progress-store.js";
import { mostPointsOf, pointsOf, resultOf } from "../labs/progress/result.js";
import type { Task } from "./task.js";

/** A stage's place in the learner's progress file: the id of a lab has no colon. */
const keyOf = ({ id }: Task, stage: string) => `build:${id}/${stage}`;
/** Of the format of tasks. */
const REVISION = 1;

/** The learner's work on a task. */
export interface TaskProgress {
  readonly isBegun: boolean;
  /** ids of the stages that pass */
  readonly done: readonly string[];
  /** ids of the stages that do not pass, and may still bring points */
  readonly open: readonly string[];
  /** the number of stages that pass, but bring no points because kubelab's own module was shown before */
  readonly shown: number;
  readonly points: number;
  readonly mostPoints: number;
  readonly hints: number;
}

/** The progress of every task, from one reading of the file. @throws LabError BAD_FILE */
export async function progressOf(store: ProgressStore, tasks: readonly Task[]): Promise<readonly TaskProgress[]> {
  const progress = await store.load();
  return tasks.map((task) => taskProgress(task, progress));
}

/** A task's part of the progress. Each stage counts as a task of a lab: a hint costs points of its own stage only. Pure. */
export function taskProgress(task: Task, { labs }: Progress): TaskProgress {
  const runs = task.stages.flatMap(({ id }) => {
    const run = labs[keyOf(task, id)];
    return run === undefined ? [] : [{ id, run, result: resultOf({ tasks: [id] }, run) }];
  });
  return {
    isBegun: runs.length > 0,
    done: runs.filter(({ id, run }) => run.done.includes(id)).map(({ id }) => id),
    open: task.stages
      .map(({ id }) => id)
      .filter((id) => {
        const { done = [], shown = [] } = labs[keyOf(task, id)] ?? {};
        return !done.includes(id) && !shown.includes(id);
      }),
    shown: runs.reduce((sum, { result }) => sum + result.shown, 0),
    points: runs.reduce((sum, { result }) => sum + pointsOf(result), 0),
    mostPoints: mostPointsOf({ predictions: [], tasks: task.stages.map(({ id }) => id) }),
    hints: runs.reduce((sum, { run }) => sum + run.hints, 0),
  };
}

/** Notes that a task was begun. What was reached before stays. */
export async function begin(store: ProgressStore, task: Task): Promise<void> {
  for (const { id } of task.stages) await change(store, task, id, (run) => run);
}

/** Notes the stages that pass. A stage once passed stays passed. */
export async function notePassed(store: ProgressStore, task: Task, stages: readonly string[]): Promise<void> {
  const [before] = await progressOf(store, [task]);
  for (const { id } of task.stages) {
    if (!stages.includes(id) || before?.done.includes(id) === true) continue;
    await change(store, task, id, (run) => ({ ...run, done: [id] }));
  }
}

/** Takes the next hint of a stage, at its price, as long as the stage is open. @returns the number of hints taken up to now, at most `count` */
export async function takeHint(store: ProgressStore, task: Task, stage: string, count: number): Promise<number> {
  let taken = 0;
  await change(store, task, stage, (run) => {
    taken = Math.min(run.hints + 1, count);
    return run.done.includes(stage) ? run : { ...run, hints: taken };
  });
  return taken;
}

/** The learner has seen kubelab's own module: stages that do not pass yet bring no points. */
export async function noteShown(store: ProgressStore, task: Task): Promise<void> {
  for (const { id } of task.stages) {
    await change(store, task, id, (run) => (run.done.includes(id) ? run : { ...run, shown: [id] }));
  }
}

/** Forgets a task. */
export async function forget(store: ProgressStore, task: Task): Promise<void> {
  for (const { id } of task.stages) await store.change(keyOf(task, id), () => undefined);
}

async function change(
  store: ProgressStore,
  task: Task,
  stage: string,
  by: (run: LabProgress) => LabProgress,
): Promise<void> {
  await store.change(keyOf(task, stage), (run = begun(store)) => by(run));
}

function begun({ wall }: ProgressStore): LabProgress {
  const startedAtMs = wall.now();
  return { revision: REVISION, seed: 0, done: [], hints: 0, rightPredictions: 0, wrongPredictions: 0, startedAtMs };
}
