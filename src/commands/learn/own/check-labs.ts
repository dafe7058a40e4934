import { stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import type { Compiled, LabProblem } from "../../../lab/labs/format/compile.js";
import { printable } from "../../../trace/terminal/text.js";
import { defined } from "../../../util/defined.js";
import { fileErrorMessage } from "../../../util/i18n/file-error.js";
import { formatMessage, LocalizedError } from "../../../util/i18n/message-error.js";
import { pathFrom } from "../../../util/os/paths.js";
import type { LearnContext } from "../context.js";

/**
 * Lists every mistake in a folder of labs, or in the folder of one, with file and line.
 * @throws LabError FAILED if there are any; BAD_FILE if it is not such a folder
 */
export async function checkLabs(env: LearnContext, folder: string): Promise<void> {
  const { context, say } = env;
  const compiled = await Promise.all((await compiledFrom(env, folder)).map((one) => withoutTakenId(env, one)));
  const problems = printProblems(env, compiled, "stdout");
  const good = compiled.filter(({ lab }) => lab !== undefined).length;
  if (problems.length > 0) {
    throw new LocalizedError("FAILED", say("labsMistakes", { count: problems.length, good }), say("labsMistakesHint"));
  }
  context.streams.stdout.write(`${say("labsGood", { good })}\n`);
}

/** The files of kubelab's own labs. */
const MESSAGES = "messages.en.json";

/** Reports a lab with the id of one of kubelab's, unless it is that lab in a checkout. */
async function withoutTakenId({ context, library, say }: LearnContext, one: Compiled): Promise<Compiled> {
  const { value: id, line } = one.names.id ?? {};
  if (id === undefined || !library.summaries.some((lab) => lab.id === id)) return one;
  const isOfCheckout = await stat(join(resolve(context.cwd, one.folder), "..", MESSAGES)).then(
    () => true,
    () => false,
  );
  if (isOfCheckout) return one;
  const message = `${say("ownIdTaken", { id })}. ${say("ownIdTakenHint")}`;
  const taken = { file: join(one.folder, "lab.yaml"), ...defined({ line }), message };
  return { names: one.names, folder: one.folder, problems: [taken, ...one.problems] };
}

/** Prints every mistake with file and line. @returns them */
export function printProblems(
  { context }: LearnContext,
  compiled: readonly Compiled[],
  stream: "stdout" | "stderr",
): readonly LabProblem[] {
  const problems = compiled.flatMap((one) => one.problems);
  for (const { file, line, message } of problems) {
    const name = asGiven(context.cwd, file);
    const place = line === undefined ? name : `${name}:${line}`;
    const text = printable(`${place}: ${message}`);
    context.streams[stream].write(`${text}\n`);
  }
  return problems;
}

/** All labs of a folder of labs, or the single lab of a lab's folder. @throws LabError BAD_FILE */
export async function compiledFrom({ context, say }: LearnContext, folder: string): Promise<readonly Compiled[]> {
  const { compileLab, compileLabs, isLab } = await import("../../../lab/labs/format/compile.js");
  const path = pathFrom(context.cwd, folder);
  const options = { say, commands: context.program.commandNames };
  let compiled: readonly Compiled[];
  try {
    if (!(await stat(path)).isDirectory()) {
      const hint = say("labsNoFolderHint", { folder: dirname(folder) });
      throw new LocalizedError("BAD_FILE", say("labsNoFolder", { file: folder }), hint);
    }
    compiled = (await isLab(path)) ? [await compileLab(path, options)] : await compileLabs(path, options);
  } catch (cause) {
    if (cause instanceof LocalizedError) throw cause;
    const message = say("fileUnreadable", { file: folder, why: formatMessage(fileErrorMessage(cause), say) });
    throw new LocalizedError("BAD_FILE", message, say("labsFolderHint"), { cause });
  }
  if (compiled.length === 0) {
    throw new LocalizedError("BAD_FILE", say("folderHasNoLabs", { folder }), say("folderHasNoLabsHint"));
  }
  return compiled;
}

/** The path relative to the learner's folder. */
function asGiven(cwd: string, file: string): string {
  const path = relative(cwd, resolve(cwd, file));
  return path.startsWith("..") ? file : path;
}
