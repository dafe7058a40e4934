import { readFile } from "node:fs/promises";
import type { LabSummary } from "../../labs/library.js";
import type { LabMessage } from "../../labs/message.js";
import { LabError } from "../../util/errors.js";
import { describeFileError } from "../../util/files.js";
import type { LearnEnvironment } from "./environment.js";
import type { InteractiveOptions } from "./interactive.js";
import { openSession } from "./open-session.js";

export interface UnattendedOptions extends InteractiveOptions {
  /** YAML or JSON: the choice by step */
  readonly answersFile?: string;
}

/**
 * A whole lab without questions: commands are run, checks solved, predictions answered from a file.
 * @throws LabError USAGE when a prediction has no answer; FAILED when a step is not done
 */
export async function runUnattended(
  env: LearnEnvironment,
  lab: LabSummary,
  { answersFile, ...options }: UnattendedOptions,
): Promise<void> {
  const answers = answersFile === undefined ? {} : await readAnswers(answersFile);
  const renderer = env.renderer("stdout");
  const onMessage = (message: LabMessage) => renderer.write(message);
  await using open = await openSession(env, lab, { ...options, onMessage });
  const { session } = open;
  while (session.step !== undefined) {
    session.present();
    const { step } = session;
    const choice = answers[step.id];
    if ("predict" in step && choice === undefined) {
      throw new LabError(
        "USAGE",
        `${lab.id}: no answer for step ${step.id}`,
        `Add a line to the --answers file: ${step.id}: ${step.predict.join(" | ")}`,
      );
    }
    await session.solve(env.context.signal);
    if (!(await session.perform(choice, env.context.signal))) {
      throw new LabError("FAILED", `${lab.id}: step ${step.id} is not done`, "See above what was seen and wanted.");
    }
  }
}

async function readAnswers(file: string): Promise<Readonly<Record<string, string>>> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new LabError("BAD_FILE", `cannot read ${file}: ${describeFileError(cause)}`, "Name a file of answers.", {
      cause,
    });
  }
  const { parse } = await import("../../util/yaml.js");
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw misread(file, cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw misread(file);
  return Object.fromEntries(Object.entries(value).map(([step, choice]) => [step, String(choice)]));
}

function misread(file: string, cause?: unknown): LabError {
  const what = `${file} is no file of answers: expected one line \`step: choice\` for each prediction`;
  return new LabError("BAD_FILE", what, "`kubelab learn start ID` shows the choices of each step.", { cause });
}
