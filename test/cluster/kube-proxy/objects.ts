import type { EndpointSlice } from "../../../src/cluster/kube-proxy/endpoint-slice-cache.js";
import type { Service } from "../../../src/cluster/kube-proxy/service.js";

/** A Service `ns/web` with the port `http`: 80 to whatever its endpoints say. */
export function service(spec: Record<string, unknown> = {}, more: Record<string, unknown> = {}): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "ns", resourceVersion: "1", ...more },
    spec: { type: "ClusterIP", clusterIP: "10.96.0.9", ports: [{ name: "http", port: 80, protocol: "TCP" }], ...spec },
    status: { loadBalancer: {} },
  } as unknown as Service;
}

/**
 * A slice of `ns/web`. Each endpoint is `address@node` and its conditions: `10.0.0.1@a`, `10.0.0.2@b!` (not ready),
 * `10.0.0.3@a~` (terminating but serving), `10.0.0.4@a/zone` (with a hint).
 */
export function slice(endpoints: readonly string[], more: Record<string, unknown> = {}, name = "web-1"): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "ns", resourceVersion: "1", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: endpoints.map((text) => {
      const [, address = "", nodeName, mark = "", zone] = /^([^@]+)@(\w+)([!~]?)(?:\/(\w+))?$/.exec(text) ?? [];
      const conditions = { ready: mark === "", serving: mark !== "!", terminating: mark === "~" };
      return { addresses: [address], nodeName, conditions, ...(zone && { hints: { forZones: [{ name: zone }] } }) };
    }),
    ...more,
  } as unknown as EndpointSlice;
}
