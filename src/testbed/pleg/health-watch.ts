import type { PlegHealth, RelistDuration } from "../../kubelet/pleg/health.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";

/** How often the kubelet checks its runtime: pkg/kubelet/kubelet.go (syncLoop's ticker). */
const CHECK_PERIOD_MS = 1000;

/**
 * Reports when PLEG turns unhealthy, with the cause, and when it is healthy again, until `signal` aborts.
 *
 * In a kubelet, runtimeState.runtimeErrors makes the node NotReady instead.
 * Differs: "has yet to be successful" is reported only after the threshold, as every start begins with it.
 * @throws the signal's reason
 */
export async function watchHealth(
  deps: { readonly healthy: () => PlegHealth; readonly clock: Clock; readonly trace: Trace },
  { relistThresholdMs }: RelistDuration,
  signal: AbortSignal,
): Promise<never> {
  const { clock, trace, healthy } = deps;
  const startMs = clock.now();
  let wasHealthy = true;
  let hasBeenHealthy = false;
  for (;;) {
    const health = healthy();
    hasBeenHealthy ||= health.healthy;
    const counts = hasBeenHealthy || clock.now() - startMs > relistThresholdMs;
    if (health.healthy !== wasHealthy && counts) {
      wasHealthy = health.healthy;
      report(trace, health);
    }
    await clock.sleep(CHECK_PERIOD_MS, signal);
  }
}

function report(trace: Trace, health: PlegHealth): void {
  const upstream = { file: "pkg/kubelet/pleg/generic.go", func: "Healthy" };
  const [from, to] = health.healthy ? ["unhealthy", "healthy"] : ["healthy", "unhealthy"];
  trace.emit({ kind: "state", subject: "PLEG", what: "", from, to, upstream }, { actor: "kubelet" });
  if (health.healthy) return;
  const message = `PLEG is not healthy: ${health.message}`;
  const hint = `Cause: ${health.cause}. A kubelet would declare its node NotReady now.`;
  trace.emit({ kind: "error", message, hint }, { actor: "kubelet" });
}
