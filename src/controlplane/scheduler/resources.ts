import { nanoValue } from "../registry/resources/quantity.js";
import type { Container, ResourceList, SchedulablePod } from "./objects.js";

/**
 * Amounts by resource: cpu in thousandths, everything else in whole units (bytes, devices, pods).
 * Mirrors framework.Resource in pkg/scheduler/framework/types.go.
 */
export type Resource = ReadonlyMap<string, number>;

/** What a container without a request counts as in scores. Mirrors pkg/scheduler/util/pod_resources.go. */
const DEFAULT_REQUESTS: Resource = new Map([
  ["cpu", 100],
  ["memory", 200 * 1024 * 1024],
]);

const NANOS_PER_MILLI = 1_000_000n;
const NANOS_PER_UNIT = 1_000_000_000n;

/** Mirrors Resource.Add: amounts are rounded up. What is no quantity counts as nothing. */
export function resourceFrom(list: ResourceList | undefined): Map<string, number> {
  const amounts = new Map<string, number>();
  for (const [name, quantity] of Object.entries(list ?? {})) {
    const nanos = nanoValue(quantity) ?? 0n;
    const unit = name === "cpu" ? NANOS_PER_MILLI : NANOS_PER_UNIT;
    amounts.set(name, Number((nanos + unit - 1n) / unit));
  }
  return amounts;
}

/** Adds (or with -1 takes away) in place. */
export function addTo(sum: Map<string, number>, amounts: Resource, sign: 1 | -1 = 1): void {
  for (const [name, amount] of amounts) sum.set(name, (sum.get(name) ?? 0) + sign * amount);
}

/** Mirrors Resource.SetMaxResource, in place. */
function raiseTo(most: Map<string, number>, amounts: Resource): void {
  for (const [name, amount] of amounts) most.set(name, Math.max(most.get(name) ?? 0, amount));
}

export interface PodRequests {
  /** what the pod asks for: decides whether it fits */
  readonly requests: Resource;
  /** the same with a floor for each container's cpu and memory: spreads pods that ask for nothing */
  readonly nonZero: Resource;
}

/**
 * What a pod needs at once: all its containers, or its greediest init container beside the sidecars that run by then, and
 * the overhead of its runtime class.
 *
 * Mirrors computePodResourceRequest in pkg/scheduler/framework/plugins/noderesources/fit.go and, for sidecars,
 * AggregateContainerRequests in k8s.io/component-helpers/resource/helpers.go.
 */
export function podRequests(pod: SchedulablePod, options: { readonly sidecars: boolean }): PodRequests {
  const overhead = resourceFrom(pod.spec?.overhead);
  const nonZero = aggregate(pod, options.sidecars, nonZeroRequest);
  const requests = aggregate(pod, options.sidecars, (container) => resourceFrom(container.resources?.requests));
  addTo(requests, overhead);
  addTo(nonZero, overhead);
  return { requests, nonZero };
}

function aggregate(
  pod: SchedulablePod,
  sidecars: boolean,
  request: (container: Container) => Resource,
): Map<string, number> {
  const sum = new Map<string, number>();
  for (const container of pod.spec?.containers ?? []) addTo(sum, request(container));
  const started = new Map<string, number>();
  const most = new Map<string, number>();
  for (const container of pod.spec?.initContainers ?? []) {
    const own = new Map(request(container));
    if (sidecars && container.restartPolicy === "Always") {
      addTo(sum, own);
      addTo(started, own);
      raiseTo(most, started);
    } else {
      addTo(own, started);
      raiseTo(most, own);
    }
  }
  raiseTo(sum, most);
  return sum;
}

/** Mirrors GetNonzeroRequests: an explicit zero stays zero. */
function nonZeroRequest(container: Container): Resource {
  const request = resourceFrom(container.resources?.requests);
  for (const [name, amount] of DEFAULT_REQUESTS) if (!request.has(name)) request.set(name, amount);
  return request;
}
