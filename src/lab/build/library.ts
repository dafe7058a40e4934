import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { LabError } from "../../util/errors.js";
import { readIfThere } from "../../util/os/files.js";
import { nearest } from "../../util/text/nearest.js";
import { type GoldenCases, parseGolden, parseTask, type Task } from "./task.js";

/** Set by the build, whose files lie one folder below the package's. */
declare const KUBELAB_COMPILED_CONTENT: boolean | undefined;

const TASKS = new URL(typeof KUBELAB_COMPILED_CONTENT === "boolean" ? "../tasks/" : "../../../tasks/", import.meta.url);

/** The ids of all tasks, in the order in which a learner meets them. */
export async function taskIds(): Promise<readonly string[]> {
  const folders = (await readdir(TASKS)).filter((name) => /^\d\d-/.test(name));
  return folders.sort().map((name) => name.slice("01-".length));
}

/** All tasks, in order. @throws LabError BAD_FILE */
export async function allTasks(): Promise<readonly Task[]> {
  return await Promise.all((await taskIds()).map((id) => openTask(id)));
}

/** @param word an id, or the number of a task @throws LabError USAGE for an unknown one */
export async function openTask(word: string): Promise<Task> {
  const ids = await taskIds();
  const id = /^\d{1,2}$/.test(word) ? ids[Number(word) - 1] : ids.find((one) => one === word);
  if (id === undefined) {
    // A part of a name says more than letters that are alike: lease is lease-loop.
    const like = ids.find((one) => one.split("-").includes(word)) ?? nearest(ids, word);
    const hint = `${like === undefined ? "" : `Did you mean ${like}? `}List the tasks: kubelab build`;
    throw new LabError("USAGE", `there is no task ${JSON.stringify(word)}`, hint);
  }
  const file = await fileOf(id, "task.yaml");
  return parseTask(id, await readFile(file, "utf8"), file);
}

/** The learner's file as it begins, with a line `// @stage ID` before each part. */
export async function stubOf({ id }: Task): Promise<string> {
  return await readFile(await fileOf(id, "stub.mjs"), "utf8");
}

/** @returns undefined for a task without recorded cases */
export async function goldenOf({ id }: Task): Promise<GoldenCases | undefined> {
  const text = await readIfThere(await fileOf(id, "golden.json"));
  return text === undefined ? undefined : parseGolden(text);
}

/** The scenario of a task's live run, in the format of docs/chaos.md; undefined: it has none. */
export async function liveOf({ id }: Task): Promise<string | undefined> {
  return await readIfThere(await fileOf(id, "live.yaml"));
}

async function fileOf(id: string, name: string): Promise<string> {
  const at = (await taskIds()).indexOf(id) + 1;
  return fileURLToPath(new URL(`${String(at).padStart(2, "0")}-${id}/${name}`, TASKS));
}
