import { readFile } from "node:fs/promises";
import { mergeProgress, newer, parseProgress } from "../../labs/progress.js";
import { LabError } from "../../util/errors.js";
import { describeFileError, writeFileAtomic } from "../../util/files.js";
import type { LearnEnvironment } from "./environment.js";

/** @throws LabError BAD_FILE */
export async function exportProgress({ store, context }: LearnEnvironment, file: string): Promise<void> {
  const progress = await store.load();
  await writeFileAtomic(file, `${JSON.stringify(progress, null, 2)}\n`, { mode: 0o600 });
  context.streams.stdout.write(`${file}: ${Object.keys(progress.labs).length} labs\n`);
}

/** Of each lab the progress that is further stays. @throws LabError BAD_FILE: nothing is changed then */
export async function importProgress({ store, context }: LearnEnvironment, file: string): Promise<void> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    const hint = "Name a file that `kubelab learn export` has written.";
    throw new LabError("BAD_FILE", `cannot read ${file}: ${describeFileError(cause)}`, hint, { cause });
  }
  const parsed = parseProgress(text);
  if (parsed.kind === "newer") throw newer(file, parsed.version);
  if (parsed.kind === "broken") {
    const hint = "Name a file that `kubelab learn export` has written.";
    throw new LabError("BAD_FILE", `${file} is no progress of kubelab learn`, hint);
  }
  await store.save(mergeProgress(await store.load(), parsed.progress));
  context.streams.stdout.write(`${file}: ${Object.keys(parsed.progress.labs).length} labs\n`);
}
