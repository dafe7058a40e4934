import type { V1EndpointSubset } from "@kubernetes/client-node";
import type { Wire } from "../../../../staging/apimachinery/wire.js";

export type EndpointSubset = Wire<V1EndpointSubset>;
export type EndpointAddress = NonNullable<EndpointSubset["addresses"]>[number];
export type EndpointPort = NonNullable<EndpointSubset["ports"]>[number];

interface Group {
  readonly addresses: ReadonlyMap<string, boolean>;
  readonly ports: EndpointPort[];
}

/**
 * The canonical form of subsets: addresses that offer the same ports are in one subset, each address once.
 *
 * Mirrors RepackSubsets in pkg/api/v1/endpoints/util.go. Differs: subsets and ports are sorted by their content, upstream by
 * its hash.
 */
export function repackSubsets(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  const addresses = new Map<string, EndpointAddress>();
  /** port -> address -> whether it is ready */
  const byPort = new Map<string, { readonly port: EndpointPort | undefined; readonly ready: Map<string, boolean> }>();
  const add = (address: EndpointAddress, port: EndpointPort | undefined, isReady: boolean) => {
    const key = addressKey(address);
    if (!addresses.has(key)) addresses.set(key, address);
    const portKey = port === undefined ? "" : textOf(port);
    const known = byPort.get(portKey) ?? { port, ready: new Map<string, boolean>() };
    byPort.set(portKey, known);
    // Not ready has precedence.
    known.ready.set(key, isReady && known.ready.get(key) !== false);
  };
  for (const subset of subsets) {
    // Headless services can have no ports.
    const ports = subset.ports?.length ? subset.ports : [undefined];
    for (const port of ports) {
      for (const address of subset.addresses ?? []) add(address, port, true);
      for (const address of subset.notReadyAddresses ?? []) add(address, port, false);
    }
  }
  const groups = new Map<string, Group>();
  for (const { port, ready } of byPort.values()) {
    const key = [...ready].sort().join(" ");
    const group = groups.get(key) ?? { addresses: ready, ports: [] };
    groups.set(key, group);
    if (port !== undefined) group.ports.push(port);
  }
  return sorted(
    [...groups.values()].map((group) => subsetOf(group, addresses)),
    textOf,
  );
}

function subsetOf({ addresses, ports }: Group, known: ReadonlyMap<string, EndpointAddress>): EndpointSubset {
  const having = (isReady: boolean) =>
    [...addresses].flatMap(([key, ready]) => {
      const address = known.get(key);
      return address !== undefined && ready === isReady ? [address] : [];
    });
  const [ready, notReady] = [sorted(having(true), addressKey), sorted(having(false), addressKey)];
  return {
    ...(ready.length === 0 ? {} : { addresses: ready }),
    ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady }),
    ...(ports.length === 0 ? {} : { ports: sorted(ports, textOf) }),
  };
}

/** Two pods can have one address: those in the network of their host. */
function addressKey({ ip, targetRef }: EndpointAddress): string {
  return `${ip} ${targetRef?.uid ?? ""}`;
}

function textOf(value: unknown): string {
  return JSON.stringify(value);
}

function sorted<T>(list: readonly T[], keyOf: (one: T) => string): T[] {
  return [...list].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
