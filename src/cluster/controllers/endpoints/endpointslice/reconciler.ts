import type { NodeObject } from "../../../../staging/apimachinery/api/node.js";
import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import { nameOf, type PodObject, type Service } from "../../../../staging/apimachinery/api/objects.js";
import { shouldPodBeInEndpoints } from "../util/service-selector-cache.js";
import {
  type Endpoint,
  type EndpointPort,
  EndpointSet,
  type EndpointSlice,
  equalBeyondHash,
  portMapKey,
  recycle,
  type SliceChanges,
} from "../util/slices.js";
import {
  type AddressType,
  addressTypesOf,
  endpointPorts,
  isOwnedBy,
  labelsChanged,
  newEndpointSlice,
  podToEndpoint,
  sliceLabels,
  sliceToFill,
} from "./utils.js";

/** Mirrors the flag --max-endpoints-per-slice. */
const MAX_ENDPOINTS_PER_SLICE = 100;

export interface ReconcileInput {
  readonly service: Service;
  /** those that the service selects */
  readonly pods: readonly PodObject[];
  /** those of the service that this controller manages */
  readonly slices: readonly EndpointSlice[];
  nodeOf(name: string): NodeObject | undefined;
  readonly maxEndpoints?: number;
}

export interface ReconcilePlan extends SliceChanges {
  readonly added: number;
  readonly removed: number;
  /** pods that are left out because their node does not exist: the service is tried again */
  readonly skipped: readonly string[];
}

/**
 * Decides which slices to create, update and delete, so that they show the pods of a service. Pure.
 *
 * Mirrors pkg/controller/endpointslice/reconciler.go (reconcile, reconcileByAddressType, finalize). Differs: no topology hints.
 */
export function reconcile(input: ReconcileInput): ReconcilePlan {
  const { service, slices } = input;
  const types = addressTypesOf(service);
  const plans = types.map((type) => reconcileByAddressType(input, type));
  const unsupported = slices.filter(({ addressType }) => !types.includes(addressType as AddressType));
  return {
    create: plans.flatMap(({ create }) => create),
    update: plans.flatMap(({ update }) => update),
    delete: [...plans.flatMap((plan) => plan.delete), ...unsupported],
    added: plans.reduce((sum, { added }) => sum + added, 0),
    removed: plans.reduce((sum, { removed }) => sum + removed, 0),
    skipped: [...new Set(plans.flatMap(({ skipped }) => skipped))],
  };
}

interface Group {
  readonly ports: readonly EndpointPort[];
  readonly desired: EndpointSet;
}

function reconcileByAddressType(input: ReconcileInput, addressType: AddressType): ReconcilePlan {
  const { service } = input;
  const ofType = input.slices.filter((slice) => slice.addressType === addressType);
  const owned = ofType.filter((slice) => isOwnedBy(slice, service));
  const existing = byPorts(owned);
  const { groups, skipped } = desiredGroups(input, addressType);
  const all: Plan = { create: [], update: [], delete: ofType.filter((slice) => !owned.includes(slice)) };
  let [added, removed] = [0, 0];
  for (const [key, { ports, desired }] of groups) {
    const make = () => newEndpointSlice(service, addressType, ports);
    const plan = reconcileByPortMapping(input, existing.get(key) ?? [], desired, make);
    all.create.push(...plan.create);
    all.update.push(...plan.update);
    all.delete.push(...plan.delete);
    added += plan.added;
    removed += plan.removed;
  }
  for (const [key, slices] of existing) if (!groups.has(key)) all.delete.push(...slices);
  const placeholder = newEndpointSlice(service, addressType, []);
  // A service without endpoints keeps an empty slice.
  if (ofType.length === all.delete.length && all.create.length === 0) {
    const kept = all.delete.length === 1 && isPlaceholder(all.delete[0], placeholder, service);
    if (kept) return { create: [], update: [], delete: [], added, removed, skipped };
    all.create.push(placeholder);
  }
  return { ...recycle(all, (slice) => isOwnedBy(slice, service)), added, removed, skipped };
}

type Plan = SliceChanges;

function byPorts(slices: readonly EndpointSlice[]): Map<string, EndpointSlice[]> {
  const groups = new Map<string, EndpointSlice[]>();
  for (const slice of slices) {
    const key = portMapKey(slice.ports);
    groups.set(key, [...(groups.get(key) ?? []), slice]);
  }
  return groups;
}

function isPlaceholder(slice: EndpointSlice | undefined, placeholder: EndpointSlice, service: Service): boolean {
  if (slice === undefined || !isOwnedBy(slice, service) || labelsChanged(slice, service)) return false;
  return (slice.endpoints ?? []).length === 0 && portMapKey(slice.ports) === portMapKey(placeholder.ports);
}

/** The endpoints that should be there, by their ports: pods can resolve a named port to different numbers. */
function desiredGroups({ service, pods, nodeOf }: ReconcileInput, addressType: AddressType) {
  const groups = new Map<string, Group>();
  const skipped: string[] = [];
  for (const pod of pods) {
    // Terminating pods stay, with the condition `terminating`.
    if (!shouldPodBeInEndpoints(pod, true)) continue;
    const ports = endpointPorts(service, pod);
    const key = portMapKey(ports);
    const group = groups.get(key) ?? { ports, desired: new EndpointSet() };
    groups.set(key, group);
    const nodeName = pod.spec?.nodeName ?? "";
    const node = nodeOf(nodeName);
    if (node === undefined && service.spec?.publishNotReadyAddresses !== true) {
      skipped.push(`skipping Pod ${nameOf(pod)} for Service ${keyOf(service)}: Node ${nodeName} Not Found`);
      continue;
    }
    const endpoint = podToEndpoint(pod, node, service, addressType);
    if (endpoint.addresses.length > 0) group.desired.insert(endpoint);
  }
  return { groups, skipped };
}

/**
 * Three steps: drop and update the endpoints of existing slices; fill up those that change anyway; put the rest into one
 * unchanged slice that has room for all, or into new ones. So each change touches as few slices as possible.
 */
function reconcileByPortMapping(
  { service, maxEndpoints = MAX_ENDPOINTS_PER_SLICE }: ReconcileInput,
  existing: readonly EndpointSlice[],
  desired: EndpointSet,
  make: () => EndpointSlice,
): Plan & { readonly added: number; readonly removed: number } {
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  const remove: EndpointSlice[] = [];
  const unchanged: EndpointSlice[] = [];
  let removed = 0;
  for (const slice of existing) {
    const before = slice.endpoints ?? [];
    const { kept, isUpdated } = keepDesired(before, desired);
    removed += before.length - kept.length;
    if (isUpdated || kept.length !== before.length) {
      if (kept.length === 0) remove.push(slice);
      else update.push(withEndpoints(slice, service, kept));
    } else if (labelsChanged(slice, service)) update.push(withEndpoints(slice, service, before));
    else unchanged.push(slice);
  }
  const added = desired.size;
  // The fullest first.
  update.sort((a, b) => b.endpoints.length - a.endpoints.length);
  update.forEach((slice, index) => {
    const more = desired.take(maxEndpoints - slice.endpoints.length);
    if (more.length > 0) update[index] = { ...slice, endpoints: [...slice.endpoints, ...more] };
  });
  while (desired.size > 0) {
    const fill = desired.size < maxEndpoints ? sliceToFill(unchanged, desired.size, maxEndpoints) : undefined;
    const before = fill?.endpoints ?? [];
    const endpoints = [...before, ...desired.take(maxEndpoints - before.length)];
    if (fill === undefined) create.push({ ...make(), endpoints });
    else {
      unchanged.splice(unchanged.indexOf(fill), 1);
      update.push(withEndpoints(fill, service, endpoints));
    }
  }
  return { create, update, delete: remove, added, removed };
}

/** Takes the endpoints that stay out of the desired ones. */
function keepDesired(before: readonly Endpoint[], desired: EndpointSet) {
  const kept: Endpoint[] = [];
  let isUpdated = false;
  for (const endpoint of before) {
    const wanted = desired.get(endpoint);
    if (wanted === undefined) continue;
    kept.push(wanted);
    if (!equalBeyondHash(wanted, endpoint)) isUpdated = true;
    desired.delete(endpoint);
  }
  return { kept, isUpdated };
}

function withEndpoints(slice: EndpointSlice, service: Service, endpoints: readonly Endpoint[]): EndpointSlice {
  return { ...slice, metadata: { ...slice.metadata, labels: sliceLabels(service) }, endpoints };
}
