import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { findCondition, isPodPhaseTerminal, withCondition } from "../../../staging/apimachinery/api/pod.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import type { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { decide } from "../support/sync-loop.js";

const FILE = "pkg/controller/disruption/disruption.go";
const STALE_POD_DISRUPTION_TIMEOUT_MS = 2 * 60_000;
const DISRUPTION_TARGET = "DisruptionTarget";

/**
 * Takes the condition DisruptionTarget from pods that were to end and do not, for example because their eviction failed after it was
 * written (since v1.26). Mirrors syncStalePodDisruption.
 */
export class StalePodDisruption {
  constructor(
    readonly deps: Pick<SharedDeps, "client" | "clock" | "trace">,
    readonly pods: SharedReflector<PodObject>,
    readonly queue: WorkQueue,
  ) {}

  /** A pod was added or changed. */
  observe(pod: PodObject): void {
    const waitMs = this.#staleAfterMs(pod);
    if (waitMs !== undefined) this.queue.addAfter(keyOf(pod), waitMs);
  }

  async sync(key: string): Promise<void> {
    const pod = this.pods.byKey(key);
    const waitMs = pod && this.#staleAfterMs(pod);
    if (pod === undefined || waitMs === undefined) return;
    if (waitMs > 0) return this.queue.addAfter(key, waitMs);
    const { client, clock, trace } = this.deps;
    const now = rfc3339(clock.now());
    const condition = { type: DISRUPTION_TARGET, status: "False", lastTransitionTime: now };
    const decision = {
      what: `reset the condition ${DISRUPTION_TARGET} of pod ${key}`,
      why: "it was to be disrupted, and has not been marked for deletion since",
      constants: [{ name: "stalePodDisruptionTimeout", value: "2m" }],
      upstream: { file: FILE, func: "syncStalePodDisruption" },
    };
    const reset = (current: PodObject) => {
      const conditions = withCondition(current.status?.conditions, condition, now);
      return { ...current, status: { ...current.status, conditions } };
    };
    const { namespace } = pod.metadata;
    await decide(trace, decision, () => client.modify<PodObject>("pods", namespace, nameOf(pod), reset, "status"));
  }

  /** Mirrors nonTerminatingPodHasStaleDisruptionCondition. @returns undefined if the condition is not there, or stays */
  #staleAfterMs(pod: PodObject): number | undefined {
    const condition = findCondition(pod.status?.conditions, DISRUPTION_TARGET);
    const isSet = condition?.status === "True" && condition.reason !== "TerminationByKubelet";
    if (!isSet || isTerminating(pod) || isPodPhaseTerminal(pod.status?.phase)) return undefined;
    const sinceMs = Date.parse(condition.lastTransitionTime ?? "");
    return Math.max(0, STALE_POD_DISRUPTION_TIMEOUT_MS - (this.deps.clock.now() - (sinceMs || 0)));
  }
}
