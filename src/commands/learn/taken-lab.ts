import { LocalizedError } from "../../i18n/message-error.js";
import type { HostState } from "../../labs/detached/state.js";
import { type RunningLab, runningLabs } from "../../labs/running.js";
import type { LearnContext } from "./context.js";

/** The running lab of this id. @throws LabError FAILED with those that run */
export function labRunning({ say }: LearnContext, running: readonly RunningLab[], word: string): RunningLab {
  const found = running.find(({ lab }) => lab === word);
  if (found !== undefined) return found;
  if (running.length === 0) throw new LocalizedError("FAILED", say("noneStarted"), say("noneStartedHint"));
  throw new LocalizedError("FAILED", say("notRunning", { id: word }), say("notRunningHint", { labs: ids(running) }));
}

/** Names on stderr the lab that a command takes, and how to choose another; nothing if only one runs. */
export function nameTaken(
  { context, say }: LearnContext,
  running: readonly RunningLab[],
  taken: RunningLab,
  command: "status" | "shell",
): void {
  const others = running.filter((one) => one !== taken);
  if (others.length > 0) context.notice(say("labTaken", { id: taken.lab, others: ids(others), command }));
}

/** The same for a command that only the lab in the background can do: the others wait at the prompts of their terminals. */
export async function nameLabInBackground({ context, say }: LearnContext, { lab, pid }: HostState): Promise<void> {
  const others = (await runningLabs(context.env)).filter((one) => one.pid !== pid);
  if (others.length > 0) context.notice(say("labTakenInBackground", { id: lab, others: ids(others) }));
}

function ids(labs: readonly RunningLab[]): string {
  return labs.map(({ lab }) => lab).join(", ");
}
