import type {
  V2HorizontalPodAutoscaler,
  V2HorizontalPodAutoscalerCondition,
  V2MetricStatus,
} from "@kubernetes/client-node";
import { withCondition } from "../../../staging/apimachinery/api/pod.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import type { NewCondition } from "./normalize.js";

export type Hpa = Wire<V2HorizontalPodAutoscaler>;
type Condition = Wire<V2HorizontalPodAutoscalerCondition>;
export type MetricStatus = Wire<V2MetricStatus>;

/** The status that a sync builds up, and writes at its end. Mirrors setCondition, setStatus in pkg/controller/podautoscaler/horizontal.go. */
export class StatusBuilder {
  #conditions: readonly Condition[];

  constructor(
    readonly hpa: Hpa,
    readonly nowMs: number,
  ) {
    this.#conditions = hpa.status?.conditions ?? [];
  }

  /** Mirrors setConditionInList. */
  set(...conditions: readonly NewCondition[]): void {
    const now = rfc3339(this.nowMs);
    for (const one of conditions) this.#conditions = withCondition<Condition>(this.#conditions, one, now);
  }

  /** Only the conditions changed. */
  conditionsOnly(): Hpa["status"] {
    return { ...this.hpa.status, conditions: this.#conditions } as Hpa["status"];
  }

  /** The metrics could not be read, or the target not be scaled. Mirrors setCurrentReplicasInStatus. */
  failed(currentReplicas: number): Hpa["status"] {
    const { desiredReplicas = 0, currentMetrics } = this.hpa.status ?? {};
    return this.done({ currentReplicas, desiredReplicas, metrics: currentMetrics ?? null, isRescaled: false });
  }

  /** Mirrors setStatus. */
  done(counts: {
    readonly currentReplicas: number;
    readonly desiredReplicas: number;
    readonly metrics: readonly MetricStatus[] | null;
    readonly isRescaled: boolean;
  }): Hpa["status"] {
    const { currentReplicas, desiredReplicas, metrics, isRescaled } = counts;
    const lastScaleTime = isRescaled ? rfc3339(this.nowMs) : this.hpa.status?.lastScaleTime;
    return {
      ...(lastScaleTime ? { lastScaleTime } : {}),
      currentReplicas,
      desiredReplicas,
      currentMetrics: metrics,
      conditions: this.#conditions,
    } as Hpa["status"];
  }
}
