import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { quantityOf } from "../../staging/apimachinery/quantity.js";
import { goDuration } from "../../staging/apimachinery/time.js";
import { messageOf } from "../../util/errors.js";
import { counted } from "../../util/text/counted.js";
import { KubeletObserver } from "../types/observer.js";
import { podText } from "../types/pod-update.js";
import type { Observation, Observations } from "./observations.js";
import { type RankedPod, rankRow, rankText } from "./ranking.js";
import {
  conditionOf,
  isHard,
  type PressureCondition,
  type Signal,
  type StarvedResource,
  type Threshold,
  thresholdAmount,
  thresholdText,
} from "./threshold.js";
import type { ThresholdsObservedAt } from "./thresholds-met.js";

/** So many pods of a ranking are in its fact; the others are counted. */
const SHOWN_PODS = 10;

/** Words what the eviction manager sees and decides. What repeats is reported when it changes. */
export class EvictionReporter extends KubeletObserver {
  protected readonly file = "pkg/kubelet/eviction/eviction_manager.go";
  #failure: string | undefined;
  #unobserved = "";

  measured(): void {
    this.#failure = undefined;
  }

  /** The node or its runtime reports no statistics: nothing is evicted. */
  notMeasured(failure: string): void {
    const level = this.#failure === failure ? 3 : 1;
    this.#failure = failure;
    const message = `Eviction manager: failed to get summary stats: ${failure}`;
    this.error(message, { hint: "It tries again in 10 s.", level });
  }

  /** Reports thresholds that are met for the first time, and signals that nothing measures. */
  observed(
    configured: readonly Threshold[],
    met: ThresholdsObservedAt,
    before: ThresholdsObservedAt,
    observations: Observations,
  ): void {
    for (const [key, { threshold }] of met) {
      const observed = observations.get(threshold.signal);
      if (before.has(key) || observed === undefined) continue;
      const { signal, value, gracePeriodMs } = threshold;
      const what = `${signal} is below its threshold of ${thresholdText(value)}`;
      const reaction = isHard(threshold)
        ? "a hard threshold: act at once"
        : `soft: act in ${goDuration(gracePeriodMs)}`;
      this.decision(what, `${observationText(signal, observed, threshold)}; ${reaction}`, "synchronize");
    }
    const unobserved = configured.map(({ signal }) => signal).filter((signal) => !observations.has(signal));
    const text = [...new Set(unobserved)].join(", ");
    if (text !== "" && text !== this.#unobserved) {
      this.decision(`ignore the thresholds of ${text}`, "no observation found for these signals", "thresholdsMet", {
        level: 2,
      });
    }
    this.#unobserved = text;
  }

  conditions(
    before: readonly PressureCondition[],
    after: readonly PressureCondition[],
    transitionPeriodMs: number,
  ): void {
    const changed = (["MemoryPressure", "DiskPressure", "PIDPressure"] as const).filter(
      (condition) => before.includes(condition) !== after.includes(condition),
    );
    for (const what of changed) {
      const [from, to = ""] = after.includes(what)
        ? ["False", "True"]
        : ["True", `False (not observed for ${goDuration(transitionPeriodMs)})`];
      this.state("this node", what, to, "synchronize", { from });
    }
  }

  ranked(ranked: readonly RankedPod[], resource: StarvedResource): void {
    const [first] = ranked;
    if (first === undefined) return;
    const order = ranked.slice(0, SHOWN_PODS).map((one, i) => `${i + 1}. ${rankText(one, resource)}`);
    const more = ranked.length > SHOWN_PODS ? [`and ${ranked.length - SHOWN_PODS} more`] : [];
    const criteria =
      resource === "pids"
        ? "priority, then number of processes"
        : "usage above request, then priority, then by how much";
    this.decision(
      `rank ${counted(ranked.length, "pod")} to reclaim ${resource}`,
      `${[...order, ...more].join("; ")} (by ${criteria})`,
      "synchronize",
      {
        compared: {
          columns: ["pod", "usage", "request", "priority"],
          rows: ranked.slice(0, SHOWN_PODS).map((one) => rankRow(one, resource)),
        },
      },
    );
  }

  nothingToEvict(resource: StarvedResource, count: number): void {
    const why = count === 0 ? "no pods are active to evict" : `none of ${count} pods may be evicted`;
    const message = `Eviction manager: unable to evict any pods from the node to reclaim ${resource}: ${why}`;
    this.error(message, { hint: "It tries again in 10 s." });
  }

  notReclaimed(resource: StarvedResource, failure: string): void {
    const message = `Eviction manager: unexpected error when attempting to reduce resource pressure: ${resource}: ${failure}`;
    this.error(message);
  }

  reclaimed(resource: StarvedResource, isEnough: boolean): void {
    const what = isEnough ? `evict no pod to reclaim ${resource}` : `evict a pod to reclaim ${resource}`;
    const why = isEnough
      ? "removing unused containers and images was enough"
      : "a threshold is still met without unused containers and images";
    this.decision(what, why, "reclaimNodeLevelResources");
  }

  cleanedUp(pods: string): void {
    this.decision("measure the node again", `evicted pods are cleaned up: ${pods}`, "waitForPodsCleanup", { level: 2 });
  }

  notCleanedUp(pods: string): void {
    const message = `Eviction manager: timed out waiting for pods to be cleaned up: ${pods}`;
    this.error(message, { level: 2 });
  }

  spares(pod: V1Pod): void {
    const why = "it is critical: a static pod, or one of a system priority";
    this.decision(`do not evict ${podText(pod)}`, why, "evictPod");
  }

  evicted(pod: V1Pod): void {
    this.state(`pod ${podText(pod)}`, "is", "evicted", "evictPod");
  }

  notEvicted(pod: V1Pod, error: unknown): void {
    this.error(`pod ${podText(pod)} failed to evict: ${messageOf(error)}`);
  }
}

/** `90Mi of 8Gi are available, 100Mi must be` */
function observationText(signal: Signal, { available, capacity }: Observation, { value }: Threshold): string {
  const unit = isBytes(signal) ? "bytes" : "count";
  const wanted = quantityOf(thresholdAmount(value, capacity), unit);
  return `${quantityOf(available, unit)} of ${quantityOf(capacity, unit)} are available, and ${wanted} must be`;
}

function isBytes(signal: Signal): boolean {
  return conditionOf(signal) === "MemoryPressure" || signal === "nodefs.available" || signal === "imagefs.available";
}
