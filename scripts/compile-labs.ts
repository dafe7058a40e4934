import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compileLabs } from "../src/lab/labs/format/compile.js";
import { summaryOf } from "../src/lab/labs/format/library.js";

/**
 * Writes the labs of a folder as the built program reads them: one JSON file each, and an index.
 * @throws Error with every mistake
 */
export async function writeCompiledLabs(from: string, to: string): Promise<void> {
  const compiled = await compileLabs(from);
  const problems = compiled.flatMap((one) => one.problems);
  if (problems.length > 0) {
    throw new Error(problems.map(({ file, line, message }) => `${file}:${line ?? 1}: ${message}`).join("\n"));
  }
  await mkdir(to, { recursive: true });
  const labs = compiled.flatMap(({ lab }) => (lab === undefined ? [] : [lab]));
  for (const lab of labs) await writeFile(join(to, `${lab.definition.id}.json`), JSON.stringify(lab));
  await writeFile(join(to, "index.json"), JSON.stringify(labs.map(summaryOf)));
}
