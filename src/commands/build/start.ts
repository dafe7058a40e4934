import { writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { openTask, stubOf } from "../../lab/build/library.js";
import { begin } from "../../lab/build/progress.js";
import type { Task } from "../../lab/build/task.js";
import { fileNameOf, workFile } from "../../lab/build/work-file.js";
import { LabError } from "../../util/errors.js";
import { describeFileError, makeFolder } from "../../util/os/files.js";
import type { CliContext } from "../cli/context.js";
import type { BuildFlags } from "./flags.js";
import { noted, openBuild, workFilesIn } from "./open.js";
import { COMMAND_WORDS } from "./words.js";

/** `kubelab build start TASK [FOLDER]`. @throws LabError USAGE, BAD_FILE */
export async function startTask(
  context: CliContext,
  word: string,
  folder: string | undefined,
  flags: BuildFlags,
): Promise<void> {
  const build = openBuild(context, flags);
  const { language, store } = build;
  const words = COMMAND_WORDS[language];
  const task = await openTask(word);
  const inFolder = resolve(context.cwd, folder ?? task.id);
  const path = join(inFolder, fileNameOf(task));
  const shown = relative(context.cwd, path) || path;
  await refuseAnother(inFolder, task);
  await write(inFolder, path, shown, workFile(task, await stubOf(task), language));
  await noted(build, () => begin(store, task));
  const where = relative(context.cwd, inFolder) || ".";
  const labs = task.labs.map((id) => `kubelab learn start ${id}`).join(", ");
  context.print({
    text: [words.made(shown), words.next(where), words.labs(labs)].join("\n"),
    json: { task: task.id, file: path },
  });
}

/** `watch FOLDER` finds the one task of a folder. */
async function refuseAnother(folder: string, task: Task): Promise<void> {
  const other = (await workFilesIn(folder)).find((name) => name !== fileNameOf(task));
  if (other === undefined) return;
  throw new LabError("USAGE", `the folder has ${other} already`, "A folder holds one task: name another folder.");
}

/** Never replaces a file: it may be the learner's work. */
async function write(folder: string, path: string, shown: string, text: string): Promise<void> {
  try {
    await makeFolder(folder, 0o755);
    await writeFile(path, text, { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") {
      throw new LabError("USAGE", `${shown} exists already`, "Go on with it, name another folder, or move it away.");
    }
    throw new LabError("BAD_FILE", `cannot write ${shown}: ${describeFileError(error)}`, "Name another folder.");
  }
}
