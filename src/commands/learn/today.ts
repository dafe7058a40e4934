import type { LabSummary } from "../../lab/labs/format/library.js";
import { mostPointsOf, pointsOf, resultOf } from "../../lab/labs/progress/result.js";
import { dateAt, dayOf, incidentOn, streakAt, type TodayResult } from "../../lab/labs/progress/today.js";
import { LocalizedError } from "../../util/i18n/message-error.js";
import type { LearnContext } from "./context.js";
import { embeddedOnly, type LearnFlags } from "./flags.js";
import { canAsk } from "./play/prompt.js";
import { requireNotPlayed } from "./taken-lab.js";

const MINUTE_MS = 60_000;

/**
 * `kubelab learn today`: an incident that the date chooses, the same one for every learner, with the time from its first start to
 * its end. Prints one line to paste, which does not name the incident. Once a day.
 * @throws LabError USAGE without a terminal; FAILED if there is no incident
 */
export async function playToday(env: LearnContext, flags: LearnFlags): Promise<void> {
  const { context, library, store, say, wall } = env;
  if (!canAsk(env)) throw new LocalizedError("USAGE", say("todayNeedsTerminal"), say("todayNeedsTerminalHint"));
  const date = dateAt(wall.now());
  const results = (await store.load()).today ?? {};
  const before = results[date];
  if (before?.finishedAtMs !== undefined) {
    context.streams.stdout.write(`${todayInWords(date, before, streakAt(date, results))}\n`);
    return env.notice(say("todayDone"));
  }
  const incidents = library.summaries.filter(({ kind, needs }) => kind === "incident" && needs.length === 0);
  const ids = incidents.map(({ id }) => id);
  const id = before?.lab ?? incidentOn(date, ids);
  const lab = incidents.find((one) => one.id === id);
  if (lab === undefined) throw new LocalizedError("FAILED", say("noIncidents"), say("noLabHint"));
  await requireNotPlayed(env, lab.id);
  const begun = before ?? { lab: id, startedAtMs: wall.now() };
  await store.changeToday(date, begun);
  const { runLab } = await import("./play/interactive.js");
  const isAnew = before === undefined;
  if (!(await runLab(env, lab, { ...embeddedOnly(flags), seed: dayOf(date), isAnew }))) return;
  const result = { ...begun, ...(await countedIn(env, lab)) };
  await store.changeToday(date, result);
  const streak = streakAt(date, (await store.load()).today ?? {});
  context.streams.stdout.write(`\n${todayInWords(date, result, streak)}\n`);
}

async function countedIn({ store, wall }: LearnContext, lab: LabSummary): Promise<Partial<TodayResult>> {
  const run = await store.of(lab);
  if (run === undefined) return {};
  const finishedAtMs = run.finishedAtMs ?? wall.now();
  return { finishedAtMs, points: pointsOf(resultOf(lab, run)), mostPoints: mostPointsOf(lab), hints: run.hints };
}

/** `kubelab 2026-11-28: 28/30 points, 6:12, 1 hint, day 4 in a row`: English, because it is to be shared. */
function todayInWords(date: string, result: TodayResult, streak: number): string {
  const { startedAtMs, finishedAtMs = startedAtMs, points = 0, mostPoints = 0, hints = 0 } = result;
  const usedMs = finishedAtMs - startedAtMs;
  const seconds = String(Math.floor((usedMs % MINUTE_MS) / 1000)).padStart(2, "0");
  const help = hints === 0 ? "no hints" : hints === 1 ? "1 hint" : `${hints} hints`;
  return `kubelab ${date}: ${points}/${mostPoints} points, ${Math.floor(usedMs / MINUTE_MS)}:${seconds}, ${help}, day ${streak} in a row`;
}
