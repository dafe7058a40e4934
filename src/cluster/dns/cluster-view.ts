import type { V1EndpointSlice, V1Namespace, V1Service } from "@kubernetes/client-node";
import { keyOf } from "../../staging/apimachinery/api/object-key.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { Informer } from "../../staging/client-go/cache/informer.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, SERVICES } from "../../staging/client-go/rest/paths.js";
import type { Ctx } from "../../trace/ctx.js";

export type Service = Wire<V1Service>;
type EndpointSlice = Wire<V1EndpointSlice>;
type Namespace = Wire<V1Namespace>;

const SERVICE_NAME = "kubernetes.io/service-name";
const NAMESPACES = { apiVersion: "v1", resource: "namespaces" };
const ENDPOINT_SLICES = { apiVersion: "discovery.k8s.io/v1", resource: "endpointslices" };

/** A ready address of a service. */
export interface EndpointAddress {
  readonly ip: string;
  /** the pod's host name, if its subdomain is this service */
  readonly hostname: string;
  /** empty: all ports */
  readonly ports: readonly { readonly name: string; readonly protocol: string; readonly port: number }[];
}

export interface NamedEndpoint extends EndpointAddress {
  /** `namespace/name` of its service */
  readonly service: string;
}

/** The data behind the answers. */
export interface ClusterView {
  hasNamespace(name: string): boolean;
  service(namespace: string, name: string): Service | undefined;
  /** the ready ones */
  endpointsOf(namespace: string, service: string): readonly EndpointAddress[];
  serviceByIp(ip: string): Service | undefined;
  endpointsByIp(ip: string): readonly NamedEndpoint[];
}

interface Indexes {
  readonly version: string;
  readonly byService: ReadonlyMap<string, readonly NamedEndpoint[]>;
  readonly byIp: ReadonlyMap<string, readonly NamedEndpoint[]>;
  readonly serviceByIp: ReadonlyMap<string, Service>;
}

/**
 * Namespaces, services and their endpoints, by list and watch.
 *
 * Mirrors newdnsController in CoreDNS, plugin/kubernetes/controller.go. Differs: indexes are made again at the first query after
 * a change.
 */
export class WatchedCluster implements ClusterView {
  readonly #namespaces: Informer<Namespace>;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  #indexes: Indexes | undefined;

  constructor(ctx: Ctx, client: KubeClient) {
    const deps = { ...ctx, client };
    const options = { actor: "dns", component: "The DNS server", waiting: "Names of services wait for it." } as const;
    this.#namespaces = new Informer(deps, { path: collectionPath(NAMESPACES), ...options });
    this.#services = new Informer(deps, { path: collectionPath(SERVICES), ...options });
    this.#slices = new Informer(deps, { path: collectionPath(ENDPOINT_SLICES), ...options });
  }

  get #informers() {
    return [this.#namespaces, this.#services, this.#slices];
  }

  /** Resolves after the first lists. */
  async synced(): Promise<void> {
    await Promise.all(this.#informers.map(({ synced }) => synced));
  }

  /** @throws the signal's reason */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.run(signal)));
  }

  hasNamespace(name: string): boolean {
    return this.#namespaces.get(name) !== undefined;
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#services.get(`${namespace}/${name}`);
  }

  endpointsOf(namespace: string, service: string): readonly EndpointAddress[] {
    return this.#current().byService.get(`${namespace}/${service}`) ?? [];
  }

  serviceByIp(ip: string): Service | undefined {
    return this.#current().serviceByIp.get(ip);
  }

  endpointsByIp(ip: string): readonly NamedEndpoint[] {
    return this.#current().byIp.get(ip) ?? [];
  }

  #current(): Indexes {
    const version = `${this.#services.version} ${this.#slices.version}`;
    if (this.#indexes?.version === version) return this.#indexes;
    const endpoints = this.#slices.objects.flatMap(endpointsOf);
    const serviceByIp = new Map<string, Service>();
    for (const service of this.#services.objects) {
      for (const ip of service.spec?.clusterIPs ?? []) if (ip !== "None") serviceByIp.set(ip, service);
    }
    const [byService, byIp] = [group(endpoints, ({ service }) => service), group(endpoints, ({ ip }) => ip)];
    this.#indexes = { version, byService, byIp, serviceByIp };
    return this.#indexes;
  }
}

/** Mirrors EndpointSliceToEndpoints in CoreDNS, plugin/kubernetes/object/endpoint.go. */
export function endpointsOf(slice: EndpointSlice): NamedEndpoint[] {
  const name = slice.metadata.labels?.[SERVICE_NAME];
  if (name === undefined) return [];
  const service = keyOf({ metadata: { ...slice.metadata, name } });
  const ports = (slice.ports ?? []).map((one) => {
    const { name: portName = "", protocol = "TCP", port = 0 } = one;
    return { name: portName, protocol, port };
  });
  return (slice.endpoints ?? []).flatMap(({ addresses, conditions, hostname }) =>
    // Absent: the endpoint is ready.
    conditions?.ready === false ? [] : addresses.map((ip) => ({ service, ip, hostname: hostname ?? "", ports })),
  );
}

function group<T>(list: readonly T[], keyFor: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) {
    const key = keyFor(one);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [one]);
    else known.push(one);
  }
  return groups;
}
