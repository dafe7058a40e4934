import { isEnd, manyListeners } from "../../staging/apimachinery/wait.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import type { Controller } from "./controller.js";
import { asController } from "./support/shared-deps.js";

/** The first restart delay of a failed controller. It doubles with each failure. */
const FIRST_RESTART_MS = 1_000;
const LAST_RESTART_MS = 60_000;
/** A controller that ran this long before it failed starts with the first delay again. */
const STABLE_MS = 60_000;

/**
 * Runs controllers until `signal` aborts. Reports and restarts a controller that fails or ends by itself; the others
 * keep running.
 * @param failures gets why a controller failed, by its name, until it starts again
 *
 * Differs: upstream's process ends when a controller panics, and a supervisor restarts it.
 */
export async function runControllers(
  controllers: readonly Controller[],
  deps: { readonly clock: Clock; readonly trace: Trace },
  signal: AbortSignal,
  failures = new Map<string, string>(),
): Promise<void> {
  manyListeners(signal);
  // Facts of controllers belong to no step of the caller.
  await deps.trace.detached(
    () => Promise.all(controllers.map((controller) => keepRunning(controller, deps, signal, failures))),
    "start",
  );
}

async function keepRunning(
  controller: Controller,
  { clock, trace }: { readonly clock: Clock; readonly trace: Trace },
  signal: AbortSignal,
  failures: Map<string, string>,
): Promise<void> {
  let restartMs = FIRST_RESTART_MS;
  while (!signal.aborted) {
    const startMs = clock.now();
    let why = "it ended by itself";
    try {
      await controller.run(signal);
    } catch (error) {
      if (isEnd(error, signal)) return;
      why = messageOf(error);
    }
    if (signal.aborted) return;
    failures.set(controller.name, why);
    if (clock.now() - startMs >= STABLE_MS) restartMs = FIRST_RESTART_MS;
    asController(trace, {
      kind: "error",
      message: `controller ${controller.name} failed: ${why}`,
      hint: `it starts again in ${restartMs / 1000} s`,
    });
    try {
      await clock.sleep(restartMs, signal);
    } catch (error) {
      if (isEnd(error, signal)) return;
      throw error;
    }
    failures.delete(controller.name);
    restartMs = Math.min(restartMs * 2, LAST_RESTART_MS);
  }
}
