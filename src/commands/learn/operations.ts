import { existsSync } from "node:fs";
import type { RealTarget } from "../../lab/labs/environment/own/cluster.js";
import { leftElsewhere } from "../../lab/labs/environment/own/record.js";
import { parseFactor } from "../../lab/labs/environment/speed.js";
import { EMPTY_PROGRESS } from "../../lab/labs/progress/progress.js";
import { askHost, type LabAnswer } from "../../lab/labs/session/detached/client.js";
import type { LabOperation } from "../../lab/labs/session/detached/host.js";
import { endDetached, requireDetached, startDetachedLab } from "../../lab/labs/session/detached/process.js";
import { detachedLab, type HostState } from "../../lab/labs/session/detached/state.js";
import { type RunningLab, runningLabs } from "../../lab/labs/session/running.js";
import { controlSocket } from "../../lab/labs/session/shell-files.js";
import { defined } from "../../util/defined.js";
import { LocalizedError } from "../../util/i18n/message-error.js";
import { type LearnContext, labNamed } from "./context.js";
import { LabReporter } from "./play/reporter.js";
import { resumeLines } from "./play/resume.js";
import { playableNext, showResult } from "./play.js";
import { labOfShell, labRunning, nameLabInBackground, nameTaken, requireLabOfShell } from "./taken-lab.js";

/** A lab that takes operations, and the environment in the language of `--lang`, else in the lab's. */
interface OpenLab {
  readonly env: LearnContext;
  readonly state: Pick<HostState, "lab" | "socket"> & Partial<HostState>;
  /** it is played at a prompt, which shows its result and starts the next lab */
  readonly isPlayed: boolean;
}

/** The lab in whose shell this is, else the one in the background. */
async function openLab(here: LearnContext): Promise<OpenLab> {
  const own = labOfShell(here);
  const inBackground = await detachedLab(here);
  const played = (await runningLabs(here.context.env)).find(
    ({ lab, pid }) => own !== "" && lab === own && pid !== inBackground?.pid,
  );
  const socket = played && controlSocket(played.place);
  if (played !== undefined && socket !== undefined && existsSync(socket))
    return { env: here.inLanguageOfLab(played.language), state: { lab: played.lab, socket }, isPlayed: true };
  return { ...(await openDetached(here)), isPlayed: false };
}

async function openDetached(here: LearnContext): Promise<{ readonly env: LearnContext; readonly state: HostState }> {
  await requireLabOfShell(here);
  const state = await requireDetached(here);
  const env = here.inLanguageOfLab(state.language);
  if (labOfShell(here) === "") await nameLabInBackground(env, state);
  return { env, state };
}

type Asked = Pick<OpenLab, "env" | "state">;

/** Sends an operation to a lab and prints its messages. @throws LabError FAILED when it does not answer */
async function ask(lab: Asked, operation: LabOperation): Promise<LabAnswer> {
  const outcome = await askIfRunning(lab, operation);
  if (outcome !== undefined) return outcome;
  const { env, state } = lab;
  throw new LocalizedError("FAILED", env.say("labEnded", { id: state.lab }), env.say("labEndedHint"));
}

/** As `ask`. @returns undefined: its process was killed */
async function askIfRunning({ env, state }: Asked, operation: LabOperation): Promise<LabAnswer | undefined> {
  const reporter = new LabReporter(env, "stdout");
  try {
    return await askHost(
      state.socket,
      { ...operation, language: env.language },
      (message) => reporter.tell(message),
      env.context.signal,
    );
  } finally {
    reporter.stop();
  }
}

/** Restarts a lab whose process was killed, and shows its current step. @throws LabError FAILED */
async function resume(here: LearnContext, { env, state: { lab, speed, kubeVersion } }: OpenLab): Promise<void> {
  env.notice(env.say("takenUp", { id: lab }));
  const found = await (await ownLabs()).findLabOrFolder(env, lab);
  const before = await env.store.of(found.lab);
  for (const line of resumeLines(found.lab, before, undefined, env.say)) env.notice(line);
  await startDetachedLab(found.env, found.lab, defined({ speed, kubeVersion }), () => status(here));
}

/**
 * Does the current step and shows the next one. If the lab was killed, shows the current one. @throws LabError FAILED
 * if the step is not done
 */
export async function next(here: LearnContext, choice: string): Promise<void> {
  const lab = await openLab(here);
  const { say } = lab.env;
  const outcome = await askIfRunning(lab, choice === "" ? { op: "perform" } : { op: "perform", choice });
  if (outcome === undefined) {
    return await resume(here, lab);
  }
  if (outcome.ok !== true) {
    throw new LocalizedError(
      "FAILED",
      say("checkFailed"),
      say(outcome.type === "predict" ? "nextNeedsChoice" : "nextHint"),
    );
  }
  await goOn(lab, outcome.step);
}

/** Shows the next step; after the last one the result, and the next lab. */
async function goOn(lab: OpenLab, step: string | null): Promise<void> {
  if (step !== null) {
    await ask(lab, { op: "present" });
    return;
  }
  if (lab.isPlayed) return lab.env.notice(lab.env.say("leaveShell"));
  const { env, lab: played } = await (await ownLabs()).findLabOrFolder(lab.env, lab.state.lab);
  await showResult(env, played, "stdout");
  const next = await playableNext(env, played);
  if (next !== undefined) env.context.streams.stdout.write(`\n${env.say("nextIs", { id: next.id })}\n`);
}

/**
 * Checks whether the current step is done, and does nothing else.
 * @param waits waits as long as the step allows; otherwise checks once
 * @throws LabError FAILED if it is not
 */
export async function check(here: LearnContext, waits: boolean): Promise<void> {
  const lab = await openLab(here);
  const { say } = lab.env;
  const { ok, type, mayTakeMs } = await ask(lab, { op: "ask", waits });
  if (ok === false) {
    const mayTake = waits || mayTakeMs === 0 ? [] : [say("mayTake", { seconds: Math.ceil(mayTakeMs / 1000) })];
    // A step with a command is not done before the command has run.
    const hint = type === "do" ? "kubelab learn next" : [...mayTake, say("nextHint")].join("\n");
    throw new LocalizedError("FAILED", say("checkFailed"), hint);
  }
  const key = ok === true ? "checkHolds" : type === "do" ? "cannotSee" : "nothingToCheck";
  lab.env.context.streams.stdout.write(`${say(key)}\n`);
}

export async function hint(here: LearnContext): Promise<void> {
  const lab = await openLab(here);
  const { ok } = await ask(lab, { op: "hint" });
  if (ok === true) return;
  lab.env.context.streams.stdout.write(`${lab.env.say(ok === false ? "noMoreHints" : "noHints")}\n`);
}

/** @throws LabError USAGE if the step has nothing to solve; FAILED if the solution did not work */
export async function solution(here: LearnContext): Promise<void> {
  const lab = await openLab(here);
  const { say } = lab.env;
  const { ok, step } = await ask(lab, { op: "solve" });
  if (ok === undefined) throw new LocalizedError("USAGE", say("nothingToSolve"), "kubelab learn next");
  if (!ok) throw new LocalizedError("FAILED", say("checkFailed"), say("stepFailedHint"));
  await goOn(lab, step);
}

/**
 * Shows the current step of the lab in whose shell this is, else of the lab in the background, else of the newest one
 * that waits at another terminal's prompt.
 * @param given id or number of the lab; "": the lab described above
 * @throws LabError FAILED if no such lab runs
 */
export async function status(here: LearnContext, given = ""): Promise<void> {
  const word = given || labOfShell(here);
  const inBackground = await detachedLab(here);
  const running = await runningLabs(here.context.env);
  const isOfBackground = ({ pid }: RunningLab) => pid === inBackground?.pid;
  const isKilled = inBackground?.lab === word && !running.some(isOfBackground);
  const chosen = () => (isKilled ? undefined : labRunning(here, running, word));
  const found = word === "" ? (running.find(isOfBackground) ?? running[0]) : chosen();
  if (found === undefined || isOfBackground(found)) {
    if (found !== undefined && word === "") nameTaken(here, running, found, "status");
    // A lab whose process was killed still counts as the one in the background.
    const state = await requireDetached(here);
    await ask({ env: here.inLanguageOfLab(state.language), state }, { op: "present" });
    return;
  }
  if (word === "") nameTaken(here, running, found, "status");
  const env = here.inLanguageOfLab(found.language);
  const reporter = new LabReporter(env, "stdout");
  for (const message of found.step[env.language] ?? []) reporter.tell(message);
  env.print("stdout", `\n${env.say("atPrompt", { id: found.lab, pid: found.pid })}`);
}

/** Writes the picture of the current step, and opens it if there is a browser; before anything has run, says so. */
export async function page(here: LearnContext): Promise<void> {
  const lab = await openLab(here);
  const { path } = await ask(lab, { op: "page" });
  if (path === undefined) return lab.env.print("stdout", lab.env.say("nothingRan"));
  (await import("./play/page.js")).showPage(lab.env, "stdout", path);
}

/** Changes the speed of the current lab's clock. @throws LabError USAGE */
export async function speed(here: LearnContext, word: string): Promise<void> {
  const lab = await openLab(here);
  const { say, context } = lab.env;
  const factor = parseFactor(word, say);
  await ask(lab, { op: "speed", factor });
  context.streams.stdout.write(`${say("speedNow", { factor })}\n`);
}

/** Ends the running lab; its progress is kept. @throws LabError FAILED if there is none */
export async function stop(here: LearnContext): Promise<void> {
  const { env, state } = await openDetached(here);
  await endDetached(env);
  env.context.streams.stdout.write(`${env.say("labStopped", { id: state.lab })}\n`);
}

/**
 * Forgets one lab, or all; a lab that runs in the background ends.
 * @param target removes the leftovers of killed labs from this cluster instead; progress stays
 * @param yes forgets all without asking
 * @throws LabError BAD_FILE for a file of a newer version; DECLINED; USAGE without a terminal and without `yes`; see
 * `removeOrphanedObjects`
 */
export async function reset(
  env: LearnContext,
  word: string,
  target: RealTarget | undefined,
  yes: boolean,
): Promise<void> {
  if (target !== undefined) {
    const lab = word === "" ? undefined : labNamed(env, word);
    return (await import("../../lab/labs/environment/own/orphaned-objects.js")).removeOrphanedObjects(env, target, lab);
  }
  if (word === "") await confirmResetAll(env, yes);
  const id =
    word === ""
      ? undefined
      : ((await ownLabs()).begunOwnLab(env, await env.store.load(), word) ?? labNamed(env, word).id);
  const running = await detachedLab(env);
  if (running !== undefined && (id === undefined || running.lab === id)) await endDetached(env);
  if (id === undefined) await env.store.save(EMPTY_PROGRESS);
  else await env.store.change(id, () => undefined);
  env.context.streams.stdout.write(`${id === undefined ? env.say("resetAll") : env.say("resetDone", { id })}\n`);
  for (const lines of await leftElsewhere(env.context.env, env.say)) env.context.streams.stderr.write(`${lines}\n`);
}

/** A forgotten argument must not erase the progress of weeks. */
async function confirmResetAll({ context, say, store }: LearnContext, yes: boolean): Promise<void> {
  // Throws for a file of a newer version, which must not be emptied. A broken file is put aside.
  const count = Object.keys((await store.load()).labs).length;
  if (count === 0) return;
  const question = say("confirmResetAll", { count });
  if (!(await context.confirm(question, { yes, flag: "--yes" }))) {
    throw new LocalizedError("DECLINED", say("declined"), say("resetOneHint"));
  }
}

/** Loaded at first use: most commands need none of it. */
const ownLabs = () => import("./own/own-lab.js");
