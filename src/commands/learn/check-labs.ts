import { LabError } from "../../util/errors.js";
import { describeFileError } from "../../util/files.js";
import type { LearnEnvironment } from "./environment.js";

/** Lists every mistake in a folder of labs, with file and line. @throws LabError FAILED when there are some */
export async function checkLabs({ context }: LearnEnvironment, folder: string): Promise<void> {
  const { compileLabs } = await import("../../labs/compile.js");
  const compiled = await compileLabs(folder).catch((cause: unknown) => {
    const hint = "Name a folder with one folder for each lab.";
    throw new LabError("BAD_FILE", `cannot read ${folder}: ${describeFileError(cause)}`, hint, { cause });
  });
  if (compiled.length === 0) {
    throw new LabError(
      "BAD_FILE",
      `${folder} has no labs`,
      "Expected one folder for each, with lab.yaml, en.md, zh.md.",
    );
  }
  const problems = compiled.flatMap((one) => one.problems);
  for (const { file, line, message } of problems) {
    context.streams.stdout.write(`${file}${line === undefined ? "" : `:${line}`}: ${message}\n`);
  }
  const good = compiled.filter(({ lab }) => lab !== undefined).length;
  if (problems.length > 0) {
    throw new LabError("FAILED", `${problems.length} mistakes, ${good} labs without`, "Mend them, and check again.");
  }
  context.streams.stdout.write(`${good} labs, no mistakes\n`);
}
