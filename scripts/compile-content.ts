import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compileTopics } from "../src/commands/explain/compile.js";
import { compileLab, compileLabs, type LabProblem } from "../src/lab/labs/format/compile.js";
import { summaryOf } from "../src/lab/labs/format/library.js";
import { compilePaths } from "../src/lab/labs/format/paths.js";
import { sayIn } from "../src/util/i18n/catalogue.js";

const TEMPLATE = "templates/lab";

/**
 * Writes labs, topics and the template of a lab as the built program reads them, which checks nothing: labs and topics as
 * JSON, with an index of the labs and one file of topics for each language.
 * @throws Error with every mistake
 */
export async function writeContent(to: string): Promise<void> {
  const compiled = await compileLabs("labs");
  const labs = compiled.flatMap(({ lab }) => (lab === undefined ? [] : [lab]));
  const topics = await compileTopics("topics", { labs: compiled.flatMap(({ names }) => names.id?.value ?? []) });
  const template = await compileLab(TEMPLATE);
  const ids = labs.map(({ definition }) => definition.id);
  const paths = await compilePaths("labs/paths.yaml", ids, sayIn("en"));
  const problems = [...compiled, template].flatMap((one) => one.problems);
  failFor([...problems, ...topics.problems, ...paths.problems]);

  await mkdir(join(to, "labs"), { recursive: true });
  for (const lab of labs) await writeFile(join(to, "labs", `${lab.definition.id}.json`), JSON.stringify(lab));
  await writeFile(join(to, "labs", "index.json"), JSON.stringify(labs.map(summaryOf)));

  await writeFile(join(to, "labs", "paths.json"), JSON.stringify(paths.paths));

  await mkdir(join(to, "topics"), { recursive: true });
  for (const [language, groups] of Object.entries(topics.groups)) {
    await writeFile(join(to, "topics", `${language}.json`), JSON.stringify(groups));
  }
  await cp(TEMPLATE, join(to, TEMPLATE), { recursive: true });
}

function failFor(problems: readonly LabProblem[]): void {
  if (problems.length === 0) return;
  throw new Error(problems.map(({ file, line, message }) => `${file}:${line ?? 1}: ${message}`).join("\n"));
}
