import type { Clock } from "../util/clock.js";
import type { Random } from "../util/random.js";
import type { Trace } from "./trace.js";

/** What nearly every algorithm needs from its caller: time, random numbers, and a place to report facts. */
export interface Ctx {
  readonly clock: Clock;
  readonly random: Random;
  readonly trace: Trace;
}
