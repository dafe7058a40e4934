import type { Trace } from "../../trace/trace.js";
import { until } from "../../trace/until.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import { DEFAULT_GC_POLICY, type KubeGenericRuntime } from "../kuberuntime/generic-runtime.js";

/** Mirrors ContainerGCPeriod in pkg/kubelet/kubelet.go. */
export const CONTAINER_GC_PERIOD_MS = 60_000;

export interface GarbageCollectionDeps {
  readonly runtime: Pick<KubeGenericRuntime, "garbageCollect">;
  readonly sourcesReady: { allReady(): boolean };
  readonly agent: { recordEvent(type: "Normal" | "Warning", reason: string, message: string): void };
  readonly clock: Clock;
  readonly trace: Trace;
}

/**
 * Removes dead containers, unused sandboxes and logs of deleted pods, once a minute.
 *
 * Mirrors StartGarbageCollection in pkg/kubelet/kubelet.go and pkg/kubelet/container/container_gc.go.
 * Differs: images are never collected, because the node has no disk of its own that could fill up.
 * @throws the signal's reason
 */
export async function collectGarbage(deps: GarbageCollectionDeps, signal: AbortSignal): Promise<never> {
  const { runtime, sourcesReady, agent, trace } = deps;
  const round = async () => {
    try {
      await runtime.garbageCollect(DEFAULT_GC_POLICY, sourcesReady.allReady(), false, signal);
    } catch (error) {
      signal.throwIfAborted();
      const message = messageOf(error);
      trace.emit({ kind: "error", message: `Container garbage collection failed: ${message}` }, { actor: "kubelet" });
      agent.recordEvent("Warning", "ContainerGCFailed", message);
    }
  };
  return until(deps, CONTAINER_GC_PERIOD_MS, round, signal);
}
