import { rfc3339 } from "../../staging/apimachinery/time.js";
import type { TimeAnswer } from "../../testbed/time/operation.js";
import { secondsText, timerCells } from "../../testbed/time/timer-text.js";
import { alignedLines } from "../../trace/terminal/table.js";

/** The last timers that ran; more would hide the result. */
const MAX_SHOWN = 20;

/** What ran, and the moment at which the clock is now. */
export function momentText({ nowMs, isPaused, speed, passedMs, ran, timers }: TimeAnswer): string {
  const hidden = ran.length - MAX_SHOWN;
  const startMs = nowMs - passedMs;
  const rows = ran.slice(-MAX_SHOWN).map((timer) => [`+${secondsText(timer.dueMs - startMs)}`, ...timerCells(timer)]);
  const next = timers[0];
  const at = `${rfc3339(nowMs)}${isPaused ? ", paused" : `, at speed ${speed}`}`;
  return [
    ...(hidden > 0 ? [`${hidden} timers ran before these:`] : []),
    ...alignedLines(rows),
    passedMs > 0 ? `${at}, ${secondsText(passedMs)} later` : at,
    ...(next === undefined ? [] : [`next in ${secondsText(next.dueMs - nowMs)}: ${timerCells(next).join("  ")}`]),
  ].join("\n");
}

/** Who waits, for what, until when, and which constant sets it. */
export function timersText({ nowMs, timers }: TimeAnswer): string {
  if (timers.length === 0) return "nobody waits for anything";
  return alignedLines([
    ["IN", "WHO", "WHAT", "SET BY"],
    ...timers.map((one) => [secondsText(one.dueMs - nowMs), ...timerCells(one)]),
  ]).join("\n");
}
