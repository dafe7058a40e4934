import type { KubeObject } from "../../staging/apimachinery/api/meta.js";

/** A service whose endpoints are not pods, but servers of this cluster itself. */
export interface OwnService {
  readonly service: KubeObject;
  /** of this process; absent: the service has pods */
  readonly endpoint?: ServerEndpoint;
}

/** Where one server listens. */
export interface ServerEndpoint {
  readonly ip: string;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: "TCP" | "UDP" }[];
}

/**
 * The Endpoints of a service with these servers, and their EndpointSlices: one for each list of ports.
 *
 * Mirrors ReconcileEndpoints in pkg/controlplane/reconcilers/lease.go and endpointSliceFromEndpoints in
 * pkg/controlplane/reconcilers/endpointsadapter.go. Differs: upstream refuses loopback addresses; in a lab they are correct, and
 * several servers share one, so they differ by their ports.
 */
export function ownEndpoints(
  { metadata: { name = "", namespace = "" } }: KubeObject,
  servers: readonly ServerEndpoint[],
): readonly KubeObject[] {
  const groups = byPorts(servers);
  const endpoints = {
    kind: "Endpoints",
    apiVersion: "v1",
    metadata: { name, namespace, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
    subsets: groups.map(({ ips, ports }) => ({ addresses: ips.map((ip) => ({ ip })), ports })),
  };
  const slices = groups.map(({ ips, ports }, index) => ({
    kind: "EndpointSlice",
    apiVersion: "discovery.k8s.io/v1",
    metadata: {
      name: index === 0 ? name : `${name}-${ports[0]?.port}`,
      namespace,
      generation: 1,
      labels: { "kubernetes.io/service-name": name },
    },
    addressType: ips[0]?.includes(":") === true ? "IPv6" : "IPv4",
    endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports,
  }));
  return [endpoints, ...slices];
}

/** In an order that all servers agree on. */
function byPorts(servers: readonly ServerEndpoint[]) {
  const groups = new Map<string, { readonly ips: string[]; readonly ports: ServerEndpoint["ports"] }>();
  for (const { ip, ports } of servers) {
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ips: [], ports };
    groups.set(key, group);
    if (!group.ips.includes(ip)) group.ips.push(ip);
  }
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([, { ips, ports }]) => ({ ips: ips.sort(), ports }));
}
