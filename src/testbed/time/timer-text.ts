import { durationText } from "../../util/release/fact.js";
import type { PendingTimer } from "../../util/timer.js";

/** Who waits, for what, and which constant sets it. Empty for a timer without a purpose. */
export function timerCells({ wait, waitMs }: PendingTimer): readonly string[] {
  if (wait === undefined) return [];
  const value = durationText(Math.round(wait.valueMs ?? waitMs));
  return [wait.who ?? "control plane", wait.what, `${wait.setBy} = ${value}`];
}

/** `kubelet node-1: renew the Lease (renewInterval = 10 s)` */
export function timerText(timer: PendingTimer): string {
  const [who, what, setBy] = timerCells(timer);
  return `${who}: ${what} (${setBy})`;
}

export function secondsText(ms: number): string {
  return `${(Math.max(0, ms) / 1000).toFixed(2)} s`;
}
