import { pathFrom } from "../../cli/paths.js";
import { fileErrorWords } from "../../labs/file-error.js";
import { SpokenError, spoken } from "../../labs/said-error.js";
import type { LearnEnvironment } from "./environment.js";

/** Lists every mistake in a folder of labs, with file and line. @throws LabError FAILED when there are some */
export async function checkLabs({ context, say }: LearnEnvironment, folder: string): Promise<void> {
  const { compileLabs } = await import("../../labs/compile.js");
  const compiled = await compileLabs(pathFrom(context.cwd, folder), say).catch((cause: unknown) => {
    const message = say("fileUnreadable", { file: folder, why: spoken(fileErrorWords(cause), say) });
    throw new SpokenError("BAD_FILE", message, say("labsFolderHint"), { cause });
  });
  if (compiled.length === 0) {
    throw new SpokenError("BAD_FILE", say("folderHasNoLabs", { folder }), say("folderHasNoLabsHint"));
  }
  const problems = compiled.flatMap((one) => one.problems);
  for (const { file, line, message } of problems) {
    const where = line === undefined ? file : `${file}:${line}`;
    context.streams.stdout.write(`${where}: ${message}\n`);
  }
  const good = compiled.filter(({ lab }) => lab !== undefined).length;
  if (problems.length > 0) {
    throw new SpokenError("FAILED", say("labsMistakes", { count: problems.length, good }), say("labsMistakesHint"));
  }
  context.streams.stdout.write(`${say("labsGood", { good })}\n`);
}
