import type { V1Container, V1Pod } from "../../apimachinery/api/pod.js";
import { amountOf, type ResourceList } from "../qos/quantity.js";
import { resourcesOf } from "../qos/resources.js";
import { isRestartableInitContainer } from "../status/phase.js";

/**
 * Amounts by resource: cpu in thousandths, everything else in whole units.
 * Mirrors framework.Resource in pkg/scheduler/framework/types.go.
 */
export type Amounts = ReadonlyMap<string, number>;

export function amountsOf(list: ResourceList): Map<string, number> {
  return new Map(Object.entries(list).map(([name, quantity]) => [name, amountOf(name, quantity)]));
}

/** Adds in place. */
export function addTo(sum: Map<string, number>, amounts: Amounts): void {
  for (const [name, amount] of amounts) sum.set(name, (sum.get(name) ?? 0) + amount);
}

function raiseTo(most: Map<string, number>, amounts: Amounts): void {
  for (const [name, amount] of amounts) most.set(name, Math.max(most.get(name) ?? 0, amount));
}

/**
 * What a pod needs at once: all its containers, or its greediest init container beside the sidecars that run by then, and
 * the overhead of its runtime class. Pure.
 *
 * Mirrors computePodResourceRequest in pkg/scheduler/framework/plugins/noderesources/fit.go and, for sidecars,
 * AggregateContainerRequests in k8s.io/component-helpers/resource/helpers.go.
 */
export function podRequests({ spec }: V1Pod): Amounts {
  const sum = new Map<string, number>();
  const requestsOf = (container: V1Container) => amountsOf(resourcesOf(container).requests);
  for (const container of spec.containers ?? []) addTo(sum, requestsOf(container));
  const sidecars = new Map<string, number>();
  const most = new Map<string, number>();
  for (const container of spec.initContainers ?? []) {
    const own = requestsOf(container);
    if (isRestartableInitContainer(container)) {
      addTo(sum, own);
      addTo(sidecars, own);
      raiseTo(most, sidecars);
    } else {
      addTo(own, sidecars);
      raiseTo(most, own);
    }
  }
  raiseTo(sum, most);
  const { overhead } = spec;
  if (typeof overhead === "object" && overhead !== null) addTo(sum, amountsOf(overhead as ResourceList));
  return sum;
}

/** A port of the node that a container wants for itself. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

interface ContainerPort {
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: string;
}

export function hostPortsOf({ spec }: V1Pod): readonly HostPort[] {
  const sidecars = (spec.initContainers ?? []).filter(isRestartableInitContainer);
  return [...(spec.containers ?? []), ...sidecars].flatMap((container) => {
    const ports = Array.isArray(container["ports"]) ? (container["ports"] as readonly ContainerPort[]) : [];
    return ports.flatMap(({ hostPort = 0, hostIP, protocol }) =>
      hostPort > 0 ? [{ ip: isUnset(hostIP) ? ANY_IP : hostIP, protocol: protocol ?? "TCP", port: hostPort }] : [],
    );
  });
}

const ANY_IP = "0.0.0.0";

/** Mirrors HostPortInfo.CheckConflict in pkg/scheduler/framework/types.go. */
export function portsConflict(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === ANY_IP || b.ip === ANY_IP;
}

function isUnset(text: string | undefined): text is undefined | "" {
  return text === undefined || text === "";
}
