import { isIP } from "node:net";
import type { V1Endpoints } from "@kubernetes/client-node";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { defined } from "../../../../util/defined.js";
import { newControllerRef } from "../../support/controller-ref.js";
import { namePrefix } from "../../support/pod-control.js";
import {
  type Endpoint,
  type EndpointPort,
  EndpointSet,
  type EndpointSlice,
  equalBeyondHash,
  MANAGED_BY,
  portMapKey,
  recycle,
  SERVICE_NAME,
  type SliceChanges,
} from "../util/slices.js";
import { LAST_CHANGE_TRIGGER_TIME } from "../util/trigger-time-tracker.js";

export type Endpoints = Wire<V1Endpoints>;
type EndpointAddress = NonNullable<NonNullable<Endpoints["subsets"]>[number]["addresses"]>[number];

export const CONTROLLER_NAME = "endpointslicemirroring-controller.k8s.io";
/** Mirrors the flag --mirroring-max-endpoints-per-subset. */
export const MAX_ENDPOINTS_PER_SUBSET = 1_000;
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

export interface MirrorPlan extends SliceChanges {
  readonly added: number;
  readonly updated: number;
  readonly removed: number;
  /** texts that are no addresses */
  readonly invalidCount: number;
  /** addresses that are not mirrored: invalid ones, and those above the maximum */
  readonly skippedCount: number;
}

interface Group {
  readonly addressType: string;
  readonly ports: readonly EndpointPort[];
  readonly desired: EndpointSet;
}

/**
 * Decides which slices to create, update and delete, so that they show what an Endpoints object lists: one slice for each
 * subset and address family. Pure.
 *
 * Mirrors pkg/controller/endpointslicemirroring/reconciler.go (reconcile, reconcileByPortMapping).
 */
export function mirror(
  endpoints: Endpoints,
  slices: readonly EndpointSlice[],
  maxEndpoints = MAX_ENDPOINTS_PER_SUBSET,
): MirrorPlan {
  const { groups, invalidCount, skippedCount } = desiredGroups(endpoints, maxEndpoints);
  const changes: SliceChanges = { create: [], update: [], delete: [] };
  const counts = { added: 0, updated: 0, removed: 0 };
  const existing = new Map<string, EndpointSlice[]>();
  for (const slice of slices) {
    const key = groupKey(slice.addressType, slice.ports);
    existing.set(key, [...(existing.get(key) ?? []), slice]);
  }
  for (const [key, group] of groups) {
    const [first, ...others] = existing.get(key) ?? [];
    existing.delete(key);
    if (group.desired.size === 0) {
      if (first !== undefined) changes.delete.push(first, ...others);
      continue;
    }
    changes.delete.push(...others);
    const { added, updated, removed } = compare(first, group.desired);
    counts.added += added;
    counts.updated += updated;
    counts.removed += removed;
    if (first !== undefined && added + updated + removed === 0 && !metadataChanged(first, endpoints)) continue;
    const slice = newSlice(endpoints, group, first, maxEndpoints);
    if (first === undefined) changes.create.push(slice);
    else changes.update.push(slice);
  }
  for (const gone of existing.values()) changes.delete.push(...gone);
  return { ...recycle(changes, () => true), ...counts, invalidCount, skippedCount };
}

function desiredGroups({ subsets }: Endpoints, maxEndpoints: number) {
  const groups = new Map<string, Group>();
  let [invalidCount, skippedCount] = [0, 0];
  for (const { ports, addresses, notReadyAddresses } of subsets ?? []) {
    const slicePorts = (ports ?? []).map(toSlicePort);
    const groupOf = (addressType: string): Group => {
      const key = groupKey(addressType, slicePorts);
      const group = groups.get(key) ?? { addressType, ports: slicePorts, desired: new EndpointSet() };
      groups.set(key, group);
      return group;
    };
    const all = [
      ...(addresses ?? []).map((address) => ({ address, isReady: true })),
      ...(notReadyAddresses ?? []).map((address) => ({ address, isReady: false })),
    ];
    let count = 0;
    for (const { address, isReady } of all) {
      if (count >= maxEndpoints) break;
      const family = isIP(address.ip);
      if (family === 0) {
        invalidCount++;
        continue;
      }
      groupOf(family === 6 ? "IPv6" : "IPv4").desired.insert(toEndpoint(address, isReady));
      count++;
    }
    skippedCount += all.length - count;
  }
  return { groups, invalidCount, skippedCount };
}

function groupKey(addressType: string, ports: EndpointSlice["ports"]): string {
  return `${addressType}-${portMapKey(ports)}`;
}

/** Mirrors addressToEndpoint. */
function toEndpoint({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  const named = hostname === "" ? {} : defined({ hostname });
  return { addresses: [ip], conditions: { ready }, ...named, ...defined({ nodeName, targetRef }) };
}

function toSlicePort({ name = "", port, protocol = "TCP", appProtocol }: EndpointPort): EndpointPort {
  return { name, protocol, ...defined({ port, appProtocol }) };
}

/** Mirrors totalChanges. */
function compare(slice: EndpointSlice | undefined, desired: EndpointSet) {
  let [matches, updated, removed] = [0, 0, 0];
  for (const endpoint of slice?.endpoints ?? []) {
    const wanted = desired.get(endpoint);
    if (wanted === undefined) {
      removed++;
      continue;
    }
    matches++;
    if (!equalBeyondHash(wanted, endpoint)) updated++;
  }
  return { added: desired.size - matches, updated, removed };
}

/** Labels and annotations are mirrored, too. */
function metadataChanged(slice: EndpointSlice, endpoints: Endpoints): boolean {
  const differ = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>> = {}) =>
    Object.keys(a).length !== Object.keys(b).length || Object.entries(a).some(([key, value]) => b[key] !== value);
  const { labels, annotations } = slice.metadata;
  return differ(labelsOf(endpoints), labels) || differ(annotationsOf(endpoints), annotations);
}

function labelsOf(endpoints: Endpoints): Record<string, string> {
  return { ...endpoints.metadata.labels, [SERVICE_NAME]: nameOf(endpoints), [MANAGED_BY]: CONTROLLER_NAME };
}

/** Mirrors cloneAndRemoveKeys: what kubectl and the controllers note about the Endpoints object itself stays there. */
function annotationsOf({ metadata }: Endpoints): Record<string, string> {
  const { [LAST_APPLIED]: _applied, [LAST_CHANGE_TRIGGER_TIME]: _time, ...rest } = metadata.annotations ?? {};
  return rest;
}

/** Mirrors newEndpointSlice. */
function newSlice(
  endpoints: Endpoints,
  { addressType, ports, desired }: Group,
  old: EndpointSlice | undefined,
  maxEndpoints: number,
): EndpointSlice {
  const { namespace } = endpoints.metadata;
  const annotations = annotationsOf(endpoints);
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      ...(old === undefined ? { generateName: namePrefix(nameOf(endpoints)) } : { name: nameOf(old) }),
      ...defined({ namespace }),
      labels: labelsOf(endpoints),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ownerReferences: [newControllerRef({ ...endpoints, apiVersion: "v1", kind: "Endpoints" })],
    },
    addressType,
    endpoints: desired.take(maxEndpoints),
    ports: ports.length === 0 ? (null as unknown as EndpointPort[]) : ports,
  };
}
