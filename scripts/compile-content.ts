import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compileTopics } from "../src/commands/explain/compile.js";
import { compileLabs, type LabProblem } from "../src/lab/labs/format/compile.js";
import { summaryOf } from "../src/lab/labs/format/library.js";

/**
 * Writes labs and topics as the built program reads them, which checks nothing: JSON, with an index of the labs and one
 * file of topics for each language.
 * @throws Error with every mistake
 */
export async function writeContent(to: string): Promise<void> {
  const compiled = await compileLabs("labs");
  const labs = compiled.flatMap(({ lab }) => (lab === undefined ? [] : [lab]));
  const topics = await compileTopics("topics", { labs: compiled.flatMap(({ names }) => names.id?.value ?? []) });
  failFor([...compiled.flatMap(({ problems }) => problems), ...topics.problems]);

  await mkdir(join(to, "labs"), { recursive: true });
  for (const lab of labs) await writeFile(join(to, "labs", `${lab.definition.id}.json`), JSON.stringify(lab));
  await writeFile(join(to, "labs", "index.json"), JSON.stringify(labs.map(summaryOf)));

  await mkdir(join(to, "topics"), { recursive: true });
  for (const [language, groups] of Object.entries(topics.groups)) {
    await writeFile(join(to, "topics", `${language}.json`), JSON.stringify(groups));
  }
}

function failFor(problems: readonly LabProblem[]): void {
  if (problems.length === 0) return;
  throw new Error(problems.map(({ file, line, message }) => `${file}:${line ?? 1}: ${message}`).join("\n"));
}
