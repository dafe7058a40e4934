import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import type { PodObject, Service } from "../../../../staging/apimachinery/api/objects.js";
import { isPodPhaseTerminal, isPodReady } from "../../../../staging/apimachinery/api/pod.js";
import { sameJson } from "../../../../staging/apimachinery/same-json.js";

type Selector = Readonly<Record<string, string>>;

/**
 * The selectors of all services, by namespace: which services a pod belongs to.
 *
 * Mirrors ServiceSelectorCache in pkg/controller/util/endpoint/controller_utils.go. Differs: it knows the services itself.
 */
export class ServiceSelectorCache {
  /** namespace -> key of the service -> selector */
  readonly #selectors = new Map<string, Map<string, Selector>>();

  update(service: Service): void {
    const { namespace = "" } = service.metadata;
    const selector = service.spec?.selector;
    if (!selector) {
      this.delete(service);
      return;
    }
    const known = this.#selectors.get(namespace) ?? new Map<string, Selector>();
    this.#selectors.set(namespace, known);
    known.set(keyOf(service), selector);
  }

  delete(service: Service): void {
    const { namespace = "" } = service.metadata;
    const known = this.#selectors.get(namespace);
    known?.delete(keyOf(service));
    if (known?.size === 0) this.#selectors.delete(namespace);
  }

  /** The keys of the services that select this pod. Mirrors GetPodServiceMemberships. */
  servicesOf({ metadata }: PodObject): string[] {
    const keys: string[] = [];
    for (const [key, selector] of this.#selectors.get(metadata.namespace ?? "") ?? []) {
      if (selects(selector, metadata.labels)) keys.push(key);
    }
    return keys;
  }

  /** The services whose endpoints a change of a pod can change. Mirrors GetServicesToUpdateOnPodChange. */
  servicesToUpdate(before: PodObject, pod: PodObject): string[] {
    const isChanged = endpointChanged(before, pod);
    const isMoved = membershipChanged(before, pod);
    if (!isChanged && !isMoved) return [];
    const now = this.servicesOf(pod);
    if (!isMoved) return now;
    const then = this.servicesOf(before);
    if (isChanged) return [...new Set([...now, ...then])];
    return [...now.filter((key) => !then.includes(key)), ...then.filter((key) => !now.includes(key))];
  }
}

/** An empty selector selects every pod. Mirrors labels.Set.AsSelectorPreValidated. */
export function selects(selector: Selector, labels: Selector | null | undefined): boolean {
  return Object.entries(selector).every(([key, value]) => labels?.[key] === value);
}

/** Mirrors podEndpointsChanged, its first result. */
function endpointChanged(before: PodObject, pod: PodObject): boolean {
  if (before.metadata.deletionTimestamp !== pod.metadata.deletionTimestamp) return true;
  if (isPodReady(before) !== isPodReady(pod)) return true;
  if (isPodPhaseTerminal(before.status?.phase) !== isPodPhaseTerminal(pod.status?.phase)) return true;
  return !sameJson(before.status?.podIPs ?? [], pod.status?.podIPs ?? []);
}

/** Mirrors podEndpointsChanged, its second result. */
function membershipChanged(before: PodObject, pod: PodObject): boolean {
  return (
    !sameJson(before.metadata.labels ?? {}, pod.metadata.labels ?? {}) ||
    before.spec?.hostname !== pod.spec?.hostname ||
    before.spec?.subdomain !== pod.spec?.subdomain
  );
}

/** Mirrors ShouldPodBeInEndpoints: a pod with an address that has not finished. */
export function shouldPodBeInEndpoints(pod: PodObject, includeTerminating: boolean): boolean {
  if (isPodPhaseTerminal(pod.status?.phase) || podIpsOf(pod).length === 0) return false;
  return includeTerminating || pod.metadata.deletionTimestamp === undefined;
}

export function podIpsOf({ status }: PodObject): string[] {
  const ips = (status?.podIPs ?? []).map(({ ip = "" }) => ip).filter((ip) => ip !== "");
  return ips.length > 0 || !status?.podIP ? ips : [status.podIP];
}

/** Mirrors ShouldSetHostname: the pod has a name in the domain of this service. */
export function shouldSetHostname({ metadata, spec }: PodObject, service: Service): boolean {
  if ((spec?.hostname ?? "") === "" || spec?.subdomain !== service.metadata.name) return false;
  return metadata.namespace === service.metadata.namespace;
}
