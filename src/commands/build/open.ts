import { readdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { goldenOf, openTask, taskIds } from "../../lab/build/library.js";
import type { GoldenCases, Task } from "../../lab/build/task.js";
import { fileNameOf, taskOfFile } from "../../lab/build/work-file.js";
import { ProgressStore } from "../../lab/labs/progress/progress-store.js";
import { SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { type Language, languageOf } from "../../util/i18n/language.js";
import { describeFileError } from "../../util/os/files.js";
import { readRegularFile } from "../../util/os/read-at-most.js";
import type { CliContext } from "../cli/context.js";
import { columnsOf } from "../cli/width.js";
import type { BuildFlags } from "./flags.js";
import { COMMAND_WORDS } from "./words.js";

const MOST_COLUMNS = 100;

/** What every subcommand needs. */
export interface BuildContext {
  readonly context: CliContext;
  readonly language: Language;
  readonly columns: number;
  readonly store: ProgressStore;
  /** real time */
  readonly clock: SystemClock;
}

export function openBuild(context: CliContext, { lang }: BuildFlags): BuildContext {
  const clock = new SystemClock();
  return {
    context,
    language: lang ?? languageOf(context.env),
    columns: Math.min(columnsOf(context.streams.stdout), MOST_COLUMNS),
    store: new ProgressStore(context.env, clock),
    clock,
  };
}

/** A learner's file and its task. */
export interface Work {
  readonly task: Task;
  readonly golden: GoldenCases | undefined;
  /** absolute */
  readonly path: string;
  /** `phase.mjs` */
  readonly name: string;
}

/**
 * Finds the learner's file.
 * @param word the file, or the folder that has it; default: the current folder
 * @throws LabError BAD_FILE, USAGE
 */
export async function findWork({ cwd }: CliContext, word: string | undefined): Promise<Work> {
  const given = resolve(cwd, word ?? ".");
  const found = await stat(given).catch((error: unknown) => {
    throw new LabError("BAD_FILE", `cannot read ${word ?? given}: ${describeFileError(error)}`, MAKE_ONE);
  });
  if (!found.isDirectory() && !found.isFile())
    throw new LabError("BAD_FILE", `${word ?? given} is no file and no folder`, `Name the file of a task. ${MAKE_ONE}`);
  const path = found.isDirectory() ? await onlyFileIn(given, word ?? "this folder") : given;
  const name = basename(path);
  const named = (await taskIds()).find((id) => fileNameOf({ id }) === name);
  // Whoever replaces the whole file loses its first line.
  const id = taskOfFile(await readText(path)) ?? named;
  if (id === undefined) {
    throw new LabError("BAD_FILE", `${name} does not name its task`, "Its first line is // kubelab build: TASK");
  }
  const task = await openTask(id);
  return { task, golden: await goldenOf(task), path, name };
}

/** Changes the progress; a state folder that cannot be written costs only that. @returns whether it is noted */
export async function noted({ context, language }: BuildContext, change: () => Promise<void>): Promise<boolean> {
  try {
    await change();
    return true;
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    context.notice(COMMAND_WORDS[language].unnoted(error.message));
    return false;
  }
}

/** The names of tasks' files in a folder. None if it cannot be read. */
export async function workFilesIn(folder: string): Promise<readonly string[]> {
  const names = new Set((await taskIds()).map((id) => fileNameOf({ id })));
  const found = await readdir(folder).catch(() => []);
  return found.filter((name) => names.has(name)).sort();
}

const MAKE_ONE = "Make one: kubelab build start TASK";

async function onlyFileIn(folder: string, shown: string): Promise<string> {
  const found = await workFilesIn(folder);
  const [first] = found;
  if (first === undefined)
    throw new LabError("USAGE", `${shown} has no file of a task`, `Give its folder. ${MAKE_ONE}`);
  if (found.length > 1)
    throw new LabError("USAGE", `${shown} has files of ${found.length} tasks`, `Name one: ${found.join(", ")}`);
  return join(folder, first);
}

async function readText(path: string): Promise<string> {
  try {
    return await readRegularFile(path);
  } catch (error) {
    throw new LabError("BAD_FILE", `cannot read ${basename(path)}: ${describeFileError(error)}`, "Check the file.");
  }
}
