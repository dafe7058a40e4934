import { EMPTY_PROGRESS } from "../../labs/progress.js";
import { LabError } from "../../util/errors.js";
import { ask, backgroundLab } from "./background.js";
import { type LearnEnvironment, labNamed } from "./environment.js";

/** Does the present step, and shows the one after it. @throws LabError FAILED when it is not done */
export async function next(env: LearnEnvironment, choice: string): Promise<void> {
  const outcome = await ask(env, choice === "" ? { op: "perform" } : { op: "perform", choice });
  if (!outcome.ok) {
    const hint = outcome.type === "predict" ? "kubelab learn next CHOICE" : "kubelab learn hint";
    throw new LabError("FAILED", env.say("checkFailed"), hint);
  }
  if (outcome.step !== null) await ask(env, { op: "present" });
}

/** As `next`, for steps that ask for something to be brought about. */
export async function check(env: LearnEnvironment): Promise<void> {
  await next(env, "");
}

export async function hint(env: LearnEnvironment): Promise<void> {
  const { ok } = await ask(env, { op: "hint" });
  if (!ok) env.context.streams.stdout.write(`${env.say("noMoreHints")}\n`);
}

export async function solution(env: LearnEnvironment): Promise<void> {
  const { ok, step } = await ask(env, { op: "solve" });
  if (!ok) throw new LabError("USAGE", env.say("nothingToSolve"), "kubelab learn next");
  if (step !== null) await ask(env, { op: "present" });
}

export async function status(env: LearnEnvironment): Promise<void> {
  await ask(env, { op: "present" });
}

/** Forgets one lab, or all; a lab that runs in the background ends. */
export async function reset(env: LearnEnvironment, word: string): Promise<void> {
  const lab = word === "" ? undefined : labNamed(env, word);
  const running = await backgroundLab(env);
  if (running !== undefined && (lab === undefined || running.lab === lab.id)) {
    // It may have been killed: then there is nothing to end.
    await ask(env, { op: "leave" }).catch(() => undefined);
  }
  if (lab === undefined) await env.store.save(EMPTY_PROGRESS);
  else await env.store.change(lab.id, () => undefined);
  env.context.streams.stdout.write(
    `${lab === undefined ? env.say("resetAll") : env.say("resetDone", { id: lab.id })}\n`,
  );
}
