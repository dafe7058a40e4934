import { isIPv4 } from "node:net";
import type { V1Service, V1ServicePort } from "@kubernetes/client-node";
import { keyOf } from "../../staging/apimachinery/api/object-key.js";
import { sameJson } from "../../staging/apimachinery/same-json.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { defined } from "../../util/defined.js";

/** A Service as the API server sends it. */
export type Service = Wire<V1Service>;

/**
 * The fields of a Service's port that the proxy needs.
 *
 * Mirrors BaseServiceInfo in pkg/proxy/service.go. Differs: IPv4 only; no source ranges of load balancers.
 */
export interface ServicePort {
  /** `default/web` */
  readonly service: string;
  /** `http`; "" for a port without a name */
  readonly port: string;
  readonly protocol: "TCP" | "UDP";
  readonly clusterIp: string;
  readonly number: number;
  readonly nodePort?: number;
  readonly externalIps: readonly string[];
  readonly loadBalancerIps: readonly string[];
  /** session affinity ClientIP; absent: None */
  readonly stickySeconds?: number;
  readonly isInternalLocal: boolean;
  readonly isExternalLocal: boolean;
  readonly healthCheckNodePort?: number;
  /** annotation `service.kubernetes.io/topology-aware-hints` */
  readonly usesHints: boolean;
}

/** By `servicePortName`. */
export type ServiceMap = ReadonlyMap<string, ServicePort>;

/** `default/web:http`, as upstream's ServicePortName writes it. */
export function servicePortName(service: string, port: string): string {
  return port === "" ? service : `${service}:${port}`;
}

/** The key of a port: two protocols can share a name. */
export function servicePortKey(service: string, port: string, protocol: string): string {
  return `${servicePortName(service, port)} ${protocol}`;
}

/** Changes of Services that the rules do not have yet. Mirrors ServiceChangeTracker in pkg/proxy/service.go. */
export class ServiceChangeTracker {
  /** by `namespace/name`: the ports in the rules, and the wanted ones */
  readonly #items = new Map<string, { readonly previous: ServiceMap; current: ServiceMap }>();

  /** @returns whether there are changes now */
  update(previous: Service | undefined, current: Service | undefined): boolean {
    const service = current ?? previous;
    if (service === undefined) return this.#items.size > 0;
    const key = keyOf(service);
    const change = this.#items.get(key) ?? { previous: serviceToServiceMap(previous), current: new Map() };
    change.current = serviceToServiceMap(current);
    if (sameJson([...change.previous], [...change.current])) this.#items.delete(key);
    else this.#items.set(key, change);
    return this.#items.size > 0;
  }

  /** Applies the changes to the map. @returns the Services that changed. Mirrors UpdateServiceMap. */
  applyTo(map: Map<string, ServicePort>): readonly string[] {
    const changed = [...this.#items.keys()];
    for (const { previous, current } of this.#items.values()) {
      for (const key of previous.keys()) map.delete(key);
      for (const [key, port] of current) map.set(key, port);
    }
    this.#items.clear();
    return changed;
  }
}

/** Mirrors ServiceChangeTracker.serviceToServiceMap and utilproxy.ShouldSkipService. */
export function serviceToServiceMap(service: Service | undefined): ServiceMap {
  const map = new Map<string, ServicePort>();
  const { spec } = service ?? {};
  const clusterIp = spec?.clusterIP ?? "";
  if (service === undefined || spec === undefined || spec.type === "ExternalName" || !isIPv4(clusterIp)) return map;
  const name = keyOf(service);
  for (const port of spec.ports ?? []) {
    const protocol = port.protocol ?? "TCP";
    if (protocol !== "TCP" && protocol !== "UDP") continue;
    map.set(servicePortKey(name, port.name ?? "", protocol), newServicePort(service, port, protocol));
  }
  return map;
}

function newServicePort(service: Service, port: Wire<V1ServicePort>, protocol: "TCP" | "UDP"): ServicePort {
  const { spec, status, metadata } = service;
  const isExternal = spec?.type === "NodePort" || spec?.type === "LoadBalancer";
  const hints = metadata.annotations?.["service.kubernetes.io/topology-aware-hints"]?.toLowerCase();
  const ingress = status?.loadBalancer?.ingress ?? [];
  const isExternalLocal = isExternal && spec?.externalTrafficPolicy === "Local";
  const timeout = spec?.sessionAffinityConfig?.clientIP?.timeoutSeconds;
  return {
    service: keyOf(service),
    port: port.name ?? "",
    protocol,
    clusterIp: spec?.clusterIP ?? "",
    number: port.port,
    externalIps: (spec?.externalIPs ?? []).filter(isIPv4),
    loadBalancerIps: ingress.flatMap(({ ip }) => (ip !== undefined && isIPv4(ip) ? [ip] : [])),
    isInternalLocal: spec?.internalTrafficPolicy === "Local",
    isExternalLocal,
    usesHints: hints === "auto",
    ...defined({
      nodePort: port.nodePort || undefined,
      stickySeconds: spec?.sessionAffinity === "ClientIP" ? (timeout ?? DEFAULT_AFFINITY_SECONDS) : undefined,
      healthCheckNodePort: isExternalLocal ? spec?.healthCheckNodePort || undefined : undefined,
    }),
  };
}

/** Mirrors DefaultClientIPServiceAffinitySeconds in k8s.io/api/core/v1. */
const DEFAULT_AFFINITY_SECONDS = 10_800;
