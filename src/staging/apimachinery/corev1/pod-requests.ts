import { milliValue, type ResourceList, unitValue } from "../quantity.js";
import { resourcesOf } from "./container-resources.js";

/**
 * Amounts by resource: cpu in thousandths, everything else in whole units (bytes, devices, pods).
 * Mirrors framework.Resource in pkg/scheduler/framework/types.go.
 */
export type Resource = ReadonlyMap<string, number>;

/** The scheduler scores a container without requests as if it had these. Mirrors pkg/scheduler/util/pod_resources.go. */
const DEFAULT_REQUESTS: Resource = new Map([
  ["cpu", 100],
  ["memory", 200 * 1024 * 1024],
]);

/** Rounds up; text that is not a quantity counts as 0. Mirrors Resource.Add. */
export function resourceFrom(list: ResourceList | null | undefined): Map<string, number> {
  const amounts = new Map<string, number>();
  for (const [name, quantity] of Object.entries(list ?? {})) {
    amounts.set(name, name === "cpu" ? milliValue(quantity) : unitValue(quantity));
  }
  return amounts;
}

/** Adds (or with -1 subtracts) in place. */
export function addTo(sum: Map<string, number>, amounts: Resource, sign: 1 | -1 = 1): void {
  for (const [name, amount] of amounts) sum.set(name, (sum.get(name) ?? 0) + sign * amount);
}

/** Mirrors Resource.SetMaxResource, in place. */
function raiseTo(most: Map<string, number>, amounts: Resource): void {
  for (const [name, amount] of amounts) most.set(name, Math.max(most.get(name) ?? 0, amount));
}

interface Container {
  readonly resources?: unknown;
  /** `Always` in an init container makes it a sidecar */
  readonly restartPolicy?: string;
}

interface PodSpec {
  readonly containers?: readonly Container[] | null;
  readonly initContainers?: readonly Container[] | null;
  readonly overhead?: unknown;
}

/**
 * What a pod needs at any one time: all its containers, or its largest init container plus the sidecars already running,
 * and the overhead of its runtime class. Pure.
 *
 * Mirrors computePodResourceRequest in pkg/scheduler/framework/plugins/noderesources/fit.go and, for sidecars,
 * AggregateContainerRequests in k8s.io/component-helpers/resource/helpers.go.
 */
export function podRequests(spec: PodSpec | undefined, options: { readonly sidecars: boolean }): Map<string, number> {
  return aggregate(spec, options.sidecars, containerRequest);
}

/** The same with a minimum for each container's cpu and memory, which spreads pods without requests. */
export function nonZeroRequests(
  spec: PodSpec | undefined,
  options: { readonly sidecars: boolean },
): Map<string, number> {
  return aggregate(spec, options.sidecars, nonZeroRequest);
}

function aggregate(
  spec: PodSpec | undefined,
  sidecars: boolean,
  request: (container: Container) => Map<string, number>,
): Map<string, number> {
  const sum = new Map<string, number>();
  for (const container of spec?.containers ?? []) addTo(sum, request(container));
  const started = new Map<string, number>();
  const most = new Map<string, number>();
  for (const container of spec?.initContainers ?? []) {
    const own = request(container);
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
  if (isList(spec?.overhead)) addTo(sum, resourceFrom(spec.overhead));
  return sum;
}

function isList(value: unknown): value is ResourceList {
  return typeof value === "object" && value !== null;
}

function containerRequest(container: Container): Map<string, number> {
  return resourceFrom(resourcesOf(container).requests);
}

/** An explicit zero stays zero. Mirrors GetNonzeroRequests. */
function nonZeroRequest(container: Container): Map<string, number> {
  const request = containerRequest(container);
  for (const [name, amount] of DEFAULT_REQUESTS) if (!request.has(name)) request.set(name, amount);
  return request;
}
