import type { Clock } from "../../util/clock.js";

/** Processors are as fast at any speed of a clock, and a busy machine needs its time. */
const LEAST_WALL_MS = 3_000;

/** How long to wait for what takes at most `ms` of the clock: on a fast clock, some seconds of the machine's time. */
export function patience({ speed = 1 }: Clock, ms: number): number {
  return Math.max(ms, LEAST_WALL_MS * speed);
}
