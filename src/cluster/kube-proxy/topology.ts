import type { Endpoint } from "./endpoint-slice-cache.js";
import type { ServicePort } from "./service.js";

/** The endpoints of a Service that a node uses. */
export interface CategorizedEndpoints {
  /** for traffic policy Cluster */
  readonly cluster: readonly Endpoint[];
  /** for traffic policy Local: those of this node */
  readonly local: readonly Endpoint[];
  /** whether any node has a usable endpoint */
  readonly hasAny: boolean;
}

export interface TopologyOptions {
  /** the node's label `topology.kubernetes.io/zone` */
  readonly zone: string;
  /** whether endpoints that terminate but still serve are used when no others are left: a default since v1.26 */
  readonly usesTerminating: boolean;
}

/** Pure. Mirrors CategorizeEndpoints in pkg/proxy/topology.go. */
export function categorizeEndpoints(
  endpoints: readonly Endpoint[],
  port: ServicePort,
  options: TopologyOptions,
): CategorizedEndpoints {
  const ready = endpoints.filter(({ isReady }) => isReady);
  const serving = options.usesTerminating ? endpoints.filter((one) => one.isServing && one.isTerminating) : [];
  const orElse = (wanted: readonly Endpoint[], otherwise: readonly Endpoint[]) =>
    wanted.length > 0 ? wanted : otherwise;
  return {
    cluster: orElse(ofZone(ready, port, options.zone), serving),
    local: orElse(ready.filter(isLocal), serving.filter(isLocal)),
    hasAny: ready.length + serving.length > 0,
  };
}

function isLocal(endpoint: Endpoint): boolean {
  return endpoint.isLocal;
}

/**
 * The endpoints that are meant for the node's zone; all of them unless each has a hint and one is for the zone.
 * Mirrors canUseTopology.
 */
function ofZone(endpoints: readonly Endpoint[], { usesHints }: ServicePort, zone: string): readonly Endpoint[] {
  const allHaveHints = endpoints.every(({ zoneHints }) => zoneHints.length > 0);
  if (!usesHints || zone === "" || !allHaveHints) return endpoints;
  const found = endpoints.filter(({ zoneHints }) => zoneHints.includes(zone));
  return found.length > 0 ? found : endpoints;
}
