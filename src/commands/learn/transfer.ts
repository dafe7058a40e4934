import { readFile } from "node:fs/promises";
import { pathFrom } from "../../cli/paths.js";
import type { Say } from "../../labs/catalogue.js";
import { fileErrorWords } from "../../labs/file-error.js";
import { mergeProgress, newer, parseProgress } from "../../labs/progress.js";
import { SpokenError, spoken } from "../../labs/said-error.js";
import type { LabError } from "../../util/errors.js";
import { writeFileAtomic } from "../../util/files.js";
import type { LearnEnvironment } from "./environment.js";

/** @throws LabError BAD_FILE */
export async function exportProgress({ store, context, say }: LearnEnvironment, file: string): Promise<void> {
  const progress = await store.load();
  await writeFileAtomic(pathFrom(context.cwd, file), `${JSON.stringify(progress, null, 2)}\n`, { mode: 0o600 });
  context.streams.stdout.write(`${say("transferred", { file, count: Object.keys(progress.labs).length })}\n`);
}

/** Of each lab the progress that is further stays. @throws LabError BAD_FILE: nothing is changed then */
export async function importProgress({ store, context, say }: LearnEnvironment, file: string): Promise<void> {
  let text: string;
  try {
    text = await readFile(pathFrom(context.cwd, file), "utf8");
  } catch (cause) {
    throw unusable(say, say("fileUnreadable", { file, why: spoken(fileErrorWords(cause), say) }), cause);
  }
  const parsed = parseProgress(text);
  if (parsed.kind === "newer") throw newer(file, parsed.version);
  if (parsed.kind === "broken") throw unusable(say, say("noProgressFile", { file }));
  await store.save(mergeProgress(await store.load(), parsed.progress));
  context.streams.stdout.write(`${say("transferred", { file, count: Object.keys(parsed.progress.labs).length })}\n`);
}

function unusable(say: Say, message: string, cause?: unknown): LabError {
  return new SpokenError("BAD_FILE", message, say("progressFileHint"), { cause });
}
