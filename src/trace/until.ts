import type { Wait } from "../util/timer.js";
import type { Ctx } from "./ctx.js";

/**
 * Runs `round` now, and again one period after each end, until `signal` aborts. Each later round begins its own chain.
 *
 * Mirrors k8s.io/apimachinery/pkg/util/wait (Until). Differs: an error of a round ends it.
 * @throws the signal's reason, or what `round` throws
 */
export async function until(
  { clock, trace }: Pick<Ctx, "clock" | "trace">,
  periodMs: number,
  round: () => Promise<void>,
  signal: AbortSignal,
  wait?: Wait,
): Promise<never> {
  await round();
  for (;;) {
    await clock.sleep(periodMs, signal, wait);
    await trace.origin("timer", round);
  }
}
