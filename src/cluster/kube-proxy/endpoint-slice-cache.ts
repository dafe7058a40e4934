import { isIPv4 } from "node:net";
import type { V1EndpointSlice } from "@kubernetes/client-node";
import { sameJson } from "../../staging/apimachinery/same-json.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { servicePortKey } from "./service.js";

/** An EndpointSlice as the API server sends it. */
export type EndpointSlice = Wire<V1EndpointSlice>;

/** An endpoint of a port of a Service. Mirrors BaseEndpointInfo in pkg/proxy/endpoints.go. */
export interface Endpoint {
  readonly ip: string;
  readonly port: number;
  /** whether its pod is on this node */
  readonly isLocal: boolean;
  readonly isReady: boolean;
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  readonly zoneHints: readonly string[];
}

/** By `servicePortKey`, sorted by address. */
export type EndpointsMap = ReadonlyMap<string, readonly Endpoint[]>;

const LABEL_SERVICE_NAME = "kubernetes.io/service-name";

/** The slices of each Service. Mirrors EndpointSliceCache in pkg/proxy/endpointslicecache.go. */
export class EndpointSliceCache {
  /** by Service, then by name of the slice */
  readonly #slices = new Map<string, Map<string, EndpointSlice>>();
  /** Services whose slices have changed since the last `takeChanged` */
  readonly #changed = new Set<string>();

  constructor(readonly nodeName: string) {}

  /** @param isRemoved the slice is gone @returns whether the change matters */
  update(slice: EndpointSlice, isRemoved: boolean): boolean {
    const { name = "", namespace = "", labels } = slice.metadata;
    const service = labels?.[LABEL_SERVICE_NAME] ?? "";
    // Endpoints of no Service; addresses of another family.
    if (service === "" || slice.addressType !== "IPv4") return false;
    const key = `${namespace}/${service}`;
    const known = this.#slices.get(key) ?? new Map<string, EndpointSlice>();
    const before = known.get(name);
    if (isRemoved ? before === undefined : before !== undefined && isSame(before, slice)) return false;
    if (isRemoved) known.delete(name);
    else known.set(name, slice);
    if (known.size === 0) this.#slices.delete(key);
    else this.#slices.set(key, known);
    this.#changed.add(key);
    return true;
  }

  /** @returns the Services that changed, with all of their endpoints now */
  takeChanged(): ReadonlyMap<string, EndpointsMap> {
    const changes = new Map([...this.#changed].map((key) => [key, this.#endpointsOf(key)] as const));
    this.#changed.clear();
    return changes;
  }

  /** Mirrors endpointInfoByServicePort and addEndpointsByIP. */
  #endpointsOf(service: string): EndpointsMap {
    const byPort = new Map<string, Map<string, Endpoint>>();
    for (const slice of this.#slices.get(service)?.values() ?? []) {
      for (const { name, port, protocol } of slice.ports ?? []) {
        if (port === undefined || port === 0) continue;
        const key = servicePortKey(service, name ?? "", protocol ?? "TCP");
        const endpoints = byPort.get(key) ?? new Map<string, Endpoint>();
        byPort.set(key, endpoints);
        for (const endpoint of slice.endpoints ?? []) this.#add(endpoints, endpoint, port);
      }
    }
    return new Map([...byPort].map(([key, endpoints]) => [key, [...endpoints.values()].sort(byAddress)]));
  }

  #add(endpoints: Map<string, Endpoint>, given: EndpointSlice["endpoints"][number], port: number): void {
    const [ip = ""] = given.addresses;
    if (!isIPv4(ip)) return;
    const { ready, serving, terminating } = given.conditions ?? {};
    const isLocal = given.nodeName === this.nodeName;
    const key = `${ip}:${port}`;
    // An address in two slices is local if either of them marks it as local.
    if (endpoints.has(key) && !isLocal) return;
    endpoints.set(key, {
      ip,
      port,
      isLocal,
      isReady: ready ?? true,
      isServing: serving ?? ready ?? true,
      isTerminating: terminating ?? false,
      zoneHints: (given.hints?.forZones ?? []).map(({ name }) => name),
    });
  }
}

/** Whether all fields that a rule needs are equal; others, such as the time of the last trigger, change with each pod. */
function isSame(a: EndpointSlice, b: EndpointSlice): boolean {
  return sameJson([a.ports ?? [], a.endpoints ?? []], [b.ports ?? [], b.endpoints ?? []]);
}

function byAddress(a: Endpoint, b: Endpoint): number {
  const [left, right] = [`${a.ip}:${a.port}`, `${b.ip}:${b.port}`];
  return left < right ? -1 : left > right ? 1 : 0;
}
