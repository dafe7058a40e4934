import { findLab } from "../../lab/labs/format/library.js";
import type { HostState } from "../../lab/labs/session/detached/state.js";
import { detachedLab } from "../../lab/labs/session/detached/state.js";
import { type RunningLab, runningLabs } from "../../lab/labs/session/running.js";
import { LocalizedError } from "../../util/i18n/message-error.js";
import type { LearnContext } from "./context.js";

/** The environment variable that names the lab to commands in its shell. */
export const LAB_OF_SHELL = "KUBELAB_LAB";

/** The id of the lab in whose shell the command was typed; "" elsewhere. */
export function labOfShell({ context }: LearnContext): string {
  return context.env[LAB_OF_SHELL] ?? "";
}

/** The running lab of this id or number. @throws LabError FAILED with those that run */
export function labRunning({ library, say }: LearnContext, running: readonly RunningLab[], word: string): RunningLab {
  const known = findLab(library.summaries, word);
  const id = known?.id ?? word;
  const found = running.find(({ lab }) => lab === id);
  if (found !== undefined) return found;
  if (word === "") throw new LocalizedError("FAILED", say("noneStarted"), say("noneStartedHint"));
  // A lab of the learner's own is not in the library.
  if (known === undefined && running.length === 0)
    throw new LocalizedError("USAGE", say("noLab", { id }), say("noLabHint"));
  if (running.length === 0) throw new LocalizedError("FAILED", say("notRunning", { id }), `kubelab learn start ${id}`);
  throw new LocalizedError("FAILED", say("notRunning", { id }), say("notRunningHint", { labs: ids(running) }));
}

/** Names on stderr the lab that a command takes, in its language, and how to choose another; nothing if only one runs. */
export function nameTaken(
  here: LearnContext,
  running: readonly RunningLab[],
  taken: RunningLab,
  command: "status" | "shell",
): void {
  const others = running.filter((one) => one !== taken);
  const { notice, say } = here.inLanguageOfLab(taken.language);
  if (others.length > 0) notice(say("labTaken", { id: taken.lab, others: ids(others), command }));
}

/** The same for a command that only a background lab can run; the others wait at their terminals' prompts. */
export async function nameLabInBackground(
  { context, notice, say }: LearnContext,
  { lab, pid }: HostState,
): Promise<void> {
  const others = (await runningLabs(context.env)).filter((one) => one.pid !== pid);
  if (others.length > 0) notice(say("labTakenInBackground", { id: lab, others: ids(others) }));
}

/**
 * Refuses a second run of a lab that is played at a prompt: both would write the same progress. The lab in the background
 * is started again instead.
 * @throws LabError FAILED
 */
export async function requireNotPlayed(env: LearnContext, id: string): Promise<void> {
  const [running, inBackground] = [await runningLabs(env.context.env), await detachedLab(env)];
  const found = running.find(({ lab, pid }) => lab === id && pid !== inBackground?.pid);
  if (found === undefined) return;
  throw new LocalizedError(
    "FAILED",
    env.say("playedAlready", { id, pid: found.pid }),
    env.say("playedAlreadyHint", { id }),
  );
}

/**
 * Refuses to do a step of the lab in the background when the command was typed in the shell of another one.
 * @throws LabError FAILED
 */
export async function requireLabOfShell(env: LearnContext): Promise<void> {
  const own = labOfShell(env);
  if (own === "") return;
  const [running, state] = [await runningLabs(env.context.env), await detachedLab(env)];
  // A lab whose process was killed no longer runs, but still counts as the one in the background.
  if (state?.lab === own || running.some(({ lab, pid }) => lab === own && pid === state?.pid)) return;
  const { lab: id } = labRunning(env, running, own);
  throw new LocalizedError("FAILED", env.say("atOtherPrompt", { id }), env.say("atOtherPromptHint"));
}

function ids(labs: readonly RunningLab[]): string {
  return labs.map(({ lab }) => lab).join(", ");
}
