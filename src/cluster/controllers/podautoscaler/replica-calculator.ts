import type { PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { Clock } from "../../../util/clock.js";
import { calculatePodRequests, groupPods, type PodGroups } from "./group-pods.js";
import { MetricsError, type PodMetric, type ResourceMetricsClient, type ResourceQuery } from "./metrics/client.js";
import { getMetricUsageRatio, getResourceUtilizationRatio, type Usage } from "./metrics/utilization.js";

/** A ratio this close to 1 changes nothing. Mirrors horizontal-pod-autoscaler-tolerance. */
export const TOLERANCE = 0.1;

/** The replicas that a metric calls for. */
export interface ReplicaProposal {
  readonly replicas: number;
  readonly usage: Usage;
  /** the numbers: `90% is 1.8 times the target 50%, of 2 ready pods: 1.8 * 2 = 4` */
  readonly why: string;
}

interface CalculatorDeps {
  readonly metrics: Pick<ResourceMetricsClient, "getResourceMetric">;
  readonly clock: Clock;
  /** from the cache */
  podsOf(namespace: string, selector: string): readonly PodObject[];
}

/** How one metric is measured. */
interface Measure {
  usageOf(metrics: ReadonlyMap<string, PodMetric>): Usage;
  /** the use of a pod without a metric, in thousandths, when the others have too little to do */
  assumed(pod: string): number;
  text(usage: Usage): string;
}

/** Mirrors ReplicaCalculator in pkg/controller/podautoscaler/replica_calculator.go. */
export class ReplicaCalculator {
  constructor(readonly deps: CalculatorDeps) {}

  /**
   * The replicas for a use in percent of the requests. Mirrors GetResourceReplicas.
   * @throws MetricsError
   */
  async getResourceReplicas(currentReplicas: number, targetPercent: number, query: ResourceQuery) {
    const { metrics, pods } = await this.#read(query);
    const requests = calculatePodRequests(pods, query.container, query.resource);
    // Pods that are to use more than they request count as on target.
    const full = Math.max(100, targetPercent);
    return this.#calculate(currentReplicas, query.resource, pods, metrics, {
      usageOf: (counted) => getResourceUtilizationRatio(counted, requests, targetPercent),
      assumed: (pod) => Math.trunc(((requests.get(pod) ?? 0) * full) / 100),
      text: ({ utilization }) => `${utilization}% of a target of ${targetPercent}%`,
    });
  }

  /**
   * The replicas for an amount per pod. Mirrors GetRawResourceReplicas and calcPlainMetricReplicas.
   * Differs: pods without a metric also change nothing if the others use exactly the target.
   * @param target in thousandths
   * @throws MetricsError
   */
  async getRawResourceReplicas(currentReplicas: number, target: number, query: ResourceQuery) {
    const { metrics, pods } = await this.#read(query);
    return this.#calculate(currentReplicas, query.resource, pods, metrics, {
      usageOf: (counted) => getMetricUsageRatio(counted, target),
      assumed: () => target,
      text: ({ average }) => `${average / 1000} per pod of a target of ${target / 1000}`,
    });
  }

  async #read(query: ResourceQuery) {
    const metrics = await this.deps.metrics.getResourceMetric(query).catch((error: unknown) => {
      if (!(error instanceof MetricsError)) throw error;
      throw new MetricsError(`unable to get metrics for resource ${query.resource}: ${error.message}`);
    });
    const pods = this.deps.podsOf(query.namespace, query.selector);
    if (pods.length === 0) throw new MetricsError("no pods returned by selector while calculating replica count");
    return { metrics, pods };
  }

  #calculate(
    currentReplicas: number,
    resource: string,
    pods: readonly PodObject[],
    all: ReadonlyMap<string, PodMetric>,
    measure: Measure,
  ): ReplicaProposal {
    const groups = groupPods(pods, all, resource, this.deps.clock.now());
    const without = new Set([...groups.ignoredPods, ...groups.unreadyPods]);
    const metrics = new Map([...all].filter(([pod]) => !without.has(pod)));
    if (metrics.size === 0) throw new MetricsError("did not receive metrics for any ready pods");
    const usage = measure.usageOf(metrics);
    const seen = `${measure.text(usage)}, ${groupsText(groups)}`;
    const keep = (because: string): ReplicaProposal => ({
      replicas: currentReplicas,
      usage,
      why: `${seen}: ${because}`,
    });
    const scale = ({ ratio }: Usage, count: number): ReplicaProposal => {
      const replicas = Math.ceil(ratio * count);
      return { replicas, usage, why: `${seen}: ${short(ratio)} * ${count} pods = ${replicas}` };
    };

    const countsUnready = groups.unreadyPods.length > 0 && usage.ratio > 1;
    if (!countsUnready && groups.missingPods.length === 0) {
      if (isTolerated(usage.ratio)) return keep("within the tolerance");
      return scale(usage, groups.readyPodCount);
    }
    const { rebalanced, assumed } = rebalance(metrics, usage.ratio, groups, countsUnready, measure);
    const again = measure.usageOf(rebalanced);
    if (isTolerated(again.ratio)) return keep(`within the tolerance if ${assumed}`);
    if (again.ratio > 1 !== usage.ratio > 1) return keep(`the direction changes if ${assumed}`);
    const proposal = scale(again, rebalanced.size);
    const isReversed = again.ratio < 1 ? proposal.replicas > currentReplicas : proposal.replicas < currentReplicas;
    return isReversed
      ? keep(`the direction changes if ${assumed}`)
      : { ...proposal, why: `${proposal.why} if ${assumed}` };
  }
}

/** Assumes the usage of unmeasured pods that makes the change smaller. */
function rebalance(
  metrics: ReadonlyMap<string, PodMetric>,
  ratio: number,
  { missingPods, unreadyPods }: PodGroups,
  countsUnready: boolean,
  measure: Measure,
) {
  const rebalanced = new Map(metrics);
  const add = (pod: string, value: number) => rebalanced.set(pod, { value, timestampMs: 0, windowMs: 0 });
  const isDown = ratio < 1;
  if (ratio !== 1) for (const pod of missingPods) add(pod, isDown ? measure.assumed(pod) : 0);
  if (countsUnready) for (const pod of unreadyPods) add(pod, 0);
  return { rebalanced, assumed: `the pods without metrics use ${isDown ? "all that they request" : "nothing"}` };
}

function isTolerated(ratio: number): boolean {
  return Math.abs(1 - ratio) <= TOLERANCE;
}

function groupsText({ readyPodCount, unreadyPods, missingPods, ignoredPods }: PodGroups): string {
  const others = { "not ready": unreadyPods, "without metrics": missingPods, ignored: ignoredPods };
  const texts = Object.entries(others).flatMap(([name, pods]) => (pods.length === 0 ? [] : [`${pods.length} ${name}`]));
  return [`${readyPodCount} pods counted`, ...texts].join(", ");
}

/** Three decimals are enough for people. */
function short(ratio: number): number {
  return Math.round(ratio * 1000) / 1000;
}
