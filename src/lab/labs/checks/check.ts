import type { Clock } from "../../../util/clock.js";
import { LabError } from "../../../util/errors.js";
import type { Say } from "../../../util/i18n/catalogue.js";
import type { LabJump } from "../environment/jump.js";
import type { Check } from "../format/schema.js";
import { type CheckView, evaluateLeaf, type Verdict } from "./leaf-check.js";
import type { Observation } from "./observation.js";
import type { StateTable } from "./state-table.js";

/** Evaluates a check once. @throws LabError CLUSTER_UNREACHABLE; the lab may have stopped it: see `evaluateWithin` */
export async function evaluate(check: Check, view: CheckView, signal: AbortSignal): Promise<Verdict> {
  const verdict = await evaluateMembers(check, view, signal);
  return check.because === undefined ? verdict : { ...verdict, observations: [{ because: check.because }] };
}

function evaluateMembers(check: Check, view: CheckView, signal: AbortSignal): Promise<Verdict> {
  if ("all" in check) return evaluateAll(check.all, view, signal);
  if ("any" in check) return evaluateAny(check.any, view, signal);
  if ("not" in check) return evaluate(check.not, view, signal).then((verdict) => negated(verdict, view.say));
  return evaluateLeaf(check, view, signal);
}

/** The interval for repeating a check with `within`, in ms of the wall clock. */
const ASK_AGAIN_MS = 50;

/** The clocks of a waiting check. */
export interface WaitTimes {
  /** the lab's */
  readonly clock: Clock;
  /** the wall clock: limits how often a check runs when the lab's clock is fast */
  readonly wall: Clock;
  /** the least time to wait, in ms of the wall clock, for busy machines on which a fast clock runs ahead */
  readonly patienceMs: number;
  /** lets the wait end without its real time */
  readonly jump?: Pick<LabJump, "wait" | "pass"> | undefined;
}

/** Reported while a check waits. */
export type Waiting = (verdict: Verdict & { ok: false }, leftMs: number) => void;

/**
 * Repeats a check until it holds, or until its `within` is over on the lab's clock.
 * @param patience aborts when the caller stops waiting; the last result counts
 */
export async function evaluateWithin(
  check: Check,
  view: CheckView,
  times: WaitTimes,
  signal: AbortSignal,
  onWaiting?: Waiting,
  patience?: AbortSignal,
): Promise<Verdict> {
  using _wait = times.jump?.wait();
  const limitMs = withinMs(check);
  const untilMs = times.clock.now() + limitMs;
  const patientUntilMs = times.wall.now() + (limitMs === 0 ? 0 : times.patienceMs);
  for (;;) {
    const verdict = await evaluateOrUnreachable(check, view, signal);
    const leftMs = untilMs - times.clock.now();
    const isOver = leftMs <= 0 && times.wall.now() >= patientUntilMs;
    if (verdict.ok || isOver || patience?.aborted === true) return verdict;
    onWaiting?.(verdict, Math.max(0, leftMs));
    if (!(await times.jump?.pass(leftMs, signal))) await times.wall.sleep(ASK_AGAIN_MS, signal);
  }
}

/** A learner may have stopped the API server. A check does not hold then, not even a negated one. */
async function evaluateOrUnreachable(check: Check, view: CheckView, signal: AbortSignal): Promise<Verdict> {
  try {
    return await evaluate(check, view, signal);
  } catch (error) {
    if (!(error instanceof LabError) || error.code !== "CLUSTER_UNREACHABLE") throw error;
    return { ok: false, seen: error.message, want: view.say("wantReachable") };
  }
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** 0: evaluated once */
export function withinMs({ within }: Check): number {
  const match = /^(\d+)(ms|s|m|h)$/.exec(within ?? "");
  return match === null ? 0 : Number(match[1]) * (UNITS_MS[match[2] ?? ""] ?? 0);
}

async function evaluateAll(checks: readonly Check[], view: CheckView, signal: AbortSignal): Promise<Verdict> {
  const seen: { readonly text: string; readonly isRaw: boolean; readonly isPrinted: boolean }[] = [];
  const observations: Observation[] = [];
  const tables: StateTable[] = [];
  let prints = "";
  for (const one of checks) {
    const verdict = await evaluate(one, view, signal);
    if (!verdict.ok) return verdict;
    seen.push({ text: verdict.seen, isRaw: verdict.isRaw === true, isPrinted: verdict.isPrinted === true });
    observations.push(...(verdict.observations ?? []));
    tables.push(...(verdict.tables ?? []));
    prints ||= verdict.prints ?? "";
  }
  // Prefers a result that shows more than a command and its exit code.
  const telling = seen.filter((one) => !one.isRaw);
  const shown = (telling.length === 0 ? seen : telling).map(({ text }) => text).join(view.say("and"));
  const isPrinted = telling.some((one) => one.isPrinted);
  return { ok: true, seen: shown, observations, prints, tables, isRaw: telling.length === 0, isPrinted };
}

async function evaluateAny(checks: readonly Check[], view: CheckView, signal: AbortSignal): Promise<Verdict> {
  const failed: (Verdict & { ok: false })[] = [];
  for (const one of checks) {
    const verdict = await evaluate(one, view, signal);
    if (verdict.ok) return verdict;
    failed.push(verdict);
  }
  return {
    ok: false,
    seen: failed.map(({ seen }) => seen).join(view.say("and")),
    want: failed.map(({ want }) => want).join(view.say("or")),
    isRaw: failed.some((one) => one.isRaw === true),
    isRawWant: failed.some((one) => one.isRawWant === true),
  };
}

function negated(verdict: Verdict, say: Say): Verdict {
  const { ok, seen, observations = [], isRaw = false } = verdict;
  if (!ok) return { ok: true, seen, observations, isRaw };
  return { ok: false, seen, want: say("wantNot", { seen }), observations, isRaw, isRawWant: isRaw };
}
