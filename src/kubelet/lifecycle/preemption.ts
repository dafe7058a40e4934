import {
  replaceOrAppend,
  type V1Pod,
  type V1PodCondition,
  type V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import { podRequests } from "../../staging/apimachinery/corev1/pod-requests.js";
import { getPodQos } from "../../staging/apimachinery/corev1/qos.js";
import { factFor } from "../../util/release/facts.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import { isCriticalPod } from "../types/pod-update.js";
import type { AdmissionFailureHandler, PredicateFailureReason, PreemptionResult } from "./predicate.js";

const MESSAGE = "Preempted in order to admit critical pod";
/** Shows that the pod did not fail by itself (since v1.26), so that controllers do not count the failure. */
const DISRUPTED: V1PodCondition = {
  type: "DisruptionTarget",
  status: "True",
  reason: "TerminationByKubelet",
  message: "Pod was preempted by Kubelet to accommodate a critical pod.",
};
/** Mirrors SystemCriticalPriority in pkg/apis/scheduling/types.go. */
const _SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/** The missing amounts: cpu in millicores, everything else in whole units. */
type Requirements = ReadonlyMap<string, number>;

export interface PreemptionDeps {
  readonly recorder: PodEventRecorder;
  /**
   * Evicts a pod and waits until its containers are gone: `killPodNow` of the pod workers.
   * @throws Error when that takes too long
   */
  readonly evictPod: (pod: V1Pod, statusFunc: (status: V1PodStatus) => V1PodStatus) => Promise<void>;
  readonly metrics?: Pick<KubeletMetrics, "add">;
}

/**
 * Makes room for a critical pod: critical pods, static ones included, are never refused for lack of resources.
 *
 * Mirrors pkg/kubelet/preemption/preemption.go (CriticalPodAdmissionHandler).
 */
export class CriticalPodAdmissionHandler implements AdmissionFailureHandler {
  /** @param options.kubeVersion `1.25` */
  constructor(
    readonly deps: PreemptionDeps,
    readonly options: { readonly kubeVersion: string },
  ) {}

  /** @param pods the other pods on this node */
  async handleAdmissionFailure(
    admitPod: V1Pod,
    pods: readonly V1Pod[],
    reasons: readonly PredicateFailureReason[],
  ): Promise<PreemptionResult> {
    if (!isCriticalPod(admitPod)) return { outcome: "reasons", reasons };
    const others = reasons.filter(({ kind }) => kind !== "resource");
    if (others.length > 0) return { outcome: "reasons", reasons: others };
    const lacking = reasons.flatMap((reason) => {
      if (reason.kind !== "resource") return [];
      const { resource, requested, used, capacity } = reason;
      return [[resource, requested - (capacity - used)] as const];
    });
    const found = getPodsToPreempt(admitPod, pods, new Map(lacking));
    if ("problem" in found) {
      return { outcome: "failed", message: `preemption: error finding a set of pods to preempt: ${found.problem}` };
    }
    const [[first = ""] = []] = lacking;
    for (const pod of found.pods) {
      await this.#preempt(pod);
      this.deps.metrics?.add("kubelet_preemptions", { preemption_signal: first });
    }
    return { outcome: "reasons", reasons: [] };
  }

  async #preempt(pod: V1Pod): Promise<void> {
    this.deps.recorder.event(pod, "Warning", "Preempting", MESSAGE);
    const hasCondition = factFor("podDisruptionConditions", this.options.kubeVersion);
    try {
      await this.deps.evictPod(pod, (status) => ({
        ...status,
        phase: "Failed",
        reason: "Preempting",
        message: MESSAGE,
        ...(hasCondition ? { conditions: replaceOrAppend(status.conditions ?? [], DISRUPTED) } : {}),
      }));
    } catch {
      // The pod workers report the failure and keep trying; the critical pod does not wait for them.
    }
  }
}

/** Mirrors Preemptable. */
function isPreemptable(preemptor: V1Pod, pod: V1Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;
  const [one, other] = [priorityOf(preemptor), priorityOf(pod)];
  return one !== undefined && other !== undefined && one > other;
}

function priorityOf({ spec }: V1Pod): number | undefined {
  const { priority } = spec;
  return typeof priority === "number" ? priority : undefined;
}

type PodsResult = { readonly pods: readonly V1Pod[] } | { readonly problem: string };

/**
 * Picks as few pods as possible, those with the lowest QoS first. Pure.
 * Mirrors getPodsToPreempt: of each class only the pods still needed after all lower classes are gone.
 */
export function getPodsToPreempt(preemptor: V1Pod, pods: readonly V1Pod[], requirements: Requirements): PodsResult {
  const candidates = pods.filter((pod) => isPreemptable(preemptor, pod));
  const ofClass = (qos: string) => candidates.filter((pod) => getPodQos(pod.spec) === qos);
  const [bestEffort, burstable, guaranteed] = [ofClass("BestEffort"), ofClass("Burstable"), ofClass("Guaranteed")];
  const unmet = subtract(requirements, candidates);
  if (unmet.size > 0) return { problem: noSetOf(unmet) };
  const third = byDistance(guaranteed, subtract(requirements, [...bestEffort, ...burstable]));
  const second = byDistance(burstable, subtract(requirements, [...bestEffort, ...third]));
  const first = byDistance(bestEffort, subtract(requirements, [...second, ...third]));
  return { pods: [...first, ...second, ...third] };
}

/** Repeatedly picks the pod whose requests come closest to the missing amounts. Mirrors getPodsToPreemptByDistance. */
function byDistance(pods: readonly V1Pod[], requirements: Requirements): V1Pod[] {
  const chosen: V1Pod[] = [];
  let left = [...pods];
  for (let lacking = requirements; lacking.size > 0 && left.length > 0; ) {
    let best: { readonly pod: V1Pod; readonly distance: number } | undefined;
    for (const pod of left) {
      const distance = distanceOf(lacking, pod);
      const isNearer = best === undefined || distance < best.distance;
      if (isNearer || (distance === best?.distance && asksForLess(pod, best.pod))) best = { pod, distance };
    }
    if (best === undefined) break;
    const { pod } = best;
    lacking = subtract(lacking, [pod]);
    chosen.push(pod);
    left = left.filter((one) => one !== pod);
  }
  return chosen;
}

/** Every resource has the same weight, whatever its unit. */
function distanceOf(requirements: Requirements, pod: V1Pod): number {
  let sum = 0;
  for (const [resource, amount] of requirements) {
    const remaining = amount - requestOf(pod, resource);
    if (remaining > 0) sum += (remaining / amount) ** 2;
  }
  return sum;
}

function asksForLess(one: V1Pod, other: V1Pod): boolean {
  for (const resource of ["memory", "cpu"]) {
    const difference = requestOf(one, resource) - requestOf(other, resource);
    if (difference !== 0) return difference < 0;
  }
  return true;
}

function subtract(requirements: Requirements, pods: readonly V1Pod[]): Requirements {
  const left = [...requirements].map(([resource, amount]) => {
    const freed = pods.reduce((sum, pod) => sum + requestOf(pod, resource), 0);
    return [resource, amount - freed] as const;
  });
  return new Map(left.filter(([, amount]) => amount > 0));
}

/** Mirrors GetResourceRequest in pkg/api/v1/resource/helpers.go. */
function requestOf(pod: V1Pod, resource: string): number {
  return resource === "pods" ? 1 : (podRequests(pod.spec, { sidecars: true }).get(resource) ?? 0);
}

function noSetOf(requirements: Requirements): string {
  const list = [...requirements].map(([resource, amount]) => `(res: ${resource}, q: ${amount}), `).join("");
  return `no set of running pods found to reclaim resources: [${list}]`;
}
