import { access, constants, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { mergeProgress, newer, parseProgress, saveProgress } from "../../lab/labs/progress/progress.js";
import type { LabError } from "../../util/errors.js";
import type { Say } from "../../util/i18n/catalogue.js";
import { fileErrorMessage } from "../../util/i18n/file-error.js";
import { formatMessage, LocalizedError } from "../../util/i18n/message-error.js";
import { pathFrom } from "../../util/os/paths.js";
import { readFileAtMost } from "../../util/os/read-at-most.js";
import type { LearnContext } from "./context.js";

/**
 * Writes the progress to a new file. It overwrites nothing and creates no folder, because a name may be mistyped.
 * @param force replaces an existing file
 * @throws LabError BAD_FILE
 */
export async function exportProgress(
  { store, context, say }: LearnContext,
  file: string,
  force: boolean,
): Promise<void> {
  const path = pathFrom(context.cwd, file);
  const isThere = await lookAt(path).catch((cause: unknown) => {
    const message = say("fileUnwritable", { file, why: formatMessage(fileErrorMessage(cause), say) });
    throw new LocalizedError("BAD_FILE", message, say("exportFolderHint"), { cause });
  });
  if (isThere && !force) throw new LocalizedError("BAD_FILE", say("exportTaken", { file }), say("exportTakenHint"));
  const progress = await store.load();
  await saveProgress(path, progress);
  context.streams.stdout.write(`${say("transferred", { file, count: Object.keys(progress.labs).length })}\n`);
}

/** @returns whether the file exists @throws the file system's error if no file can be written there */
async function lookAt(path: string): Promise<boolean> {
  await access(dirname(path), constants.W_OK);
  const there = await stat(path).catch(() => undefined);
  if (there?.isDirectory() === true) throw Object.assign(new Error("a folder"), { code: "EISDIR" });
  return there !== undefined;
}

/** Imports progress, and keeps the more advanced one for each lab. @throws LabError BAD_FILE and changes nothing */
export async function importProgress({ store, context, say }: LearnContext, file: string): Promise<void> {
  let text: string;
  try {
    text = (await readFileAtMost(pathFrom(context.cwd, file), context.signal)).toString();
  } catch (cause) {
    throw unusable(say, say("fileUnreadable", { file, why: formatMessage(fileErrorMessage(cause), say) }), cause);
  }
  const parsed = parseProgress(text);
  if (parsed.kind === "newer") throw newer(file, parsed.version);
  if (parsed.kind === "broken") throw unusable(say, say("noProgressFile", { file }));
  await store.save(mergeProgress(await store.load(), parsed.progress));
  context.streams.stdout.write(`${say("transferred", { file, count: Object.keys(parsed.progress.labs).length })}\n`);
}

function unusable(say: Say, message: string, cause?: unknown): LabError {
  return new LocalizedError("BAD_FILE", message, say("progressFileHint"), { cause });
}
