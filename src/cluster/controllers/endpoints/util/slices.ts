import { createHash } from "node:crypto";
import type { V1EndpointSlice } from "@kubernetes/client-node";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";

export type EndpointSlice = Wire<V1EndpointSlice>;
export type Endpoint = EndpointSlice["endpoints"][number];
export type EndpointPort = NonNullable<EndpointSlice["ports"]>[number];

export const ENDPOINT_SLICES = "endpointslices.discovery.k8s.io";
export const SERVICE_NAME = "kubernetes.io/service-name";
export const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
/** Endpoints with this annotation hold the lock of a leader election, as some old clients keep it. */
export const LEADER = "control-plane.alpha.kubernetes.io/leader";
/** The retries of a service or of an Endpoints object: 1 s, 2 s, ... 100 s, fifteen times. */
export const SLICE_RETRIES = { baseDelayMs: 1_000, maxDelayMs: 100_000, maxRetries: 15 };

/** What a pass writes. A slice to create has a generateName, one to update a name. */
export interface SliceChanges {
  readonly create: EndpointSlice[];
  readonly update: EndpointSlice[];
  readonly delete: EndpointSlice[];
}

/** Mirrors NewPortMapKey: the same ports in any order have one key. */
export function portMapKey(ports: readonly EndpointPort[] | null | undefined): string {
  const texts = (ports ?? []).map(({ name = "", port, protocol, appProtocol }) =>
    JSON.stringify([name, port ?? null, protocol ?? null, appProtocol ?? null]),
  );
  return createHash("md5").update(texts.sort().join()).digest("hex");
}

/**
 * Endpoints by address and host name, in the order in which they were added.
 * Mirrors endpointSet in pkg/controller/util/endpoint/endpointset.go.
 */
export class EndpointSet {
  readonly #endpoints = new Map<string, Endpoint>();

  get size(): number {
    return this.#endpoints.size;
  }

  insert(endpoint: Endpoint): void {
    this.#endpoints.set(hashOf(endpoint), endpoint);
  }

  get(like: Endpoint): Endpoint | undefined {
    return this.#endpoints.get(hashOf(like));
  }

  delete(like: Endpoint): void {
    this.#endpoints.delete(hashOf(like));
  }

  /** Removes and returns up to `count` endpoints. Mirrors PopAny. */
  take(count: number): Endpoint[] {
    const taken: Endpoint[] = [];
    for (const [hash, endpoint] of this.#endpoints) {
      if (taken.length >= count) break;
      this.#endpoints.delete(hash);
      taken.push(endpoint);
    }
    return taken;
  }
}

function hashOf({ addresses, hostname }: Endpoint): string {
  return `${[...(addresses ?? [])].sort().join()} ${hostname ?? ""}`;
}

/** Compares what the hash leaves out. Mirrors EndpointsEqualBeyondHash. */
export function equalBeyondHash(a: Endpoint, b: Endpoint): boolean {
  const rest = ({ conditions, nodeName, zone, targetRef, deprecatedTopology }: Endpoint) => {
    const { ready, serving, terminating } = conditions ?? {};
    const { kind, namespace, name, uid } = targetRef ?? {};
    return [`${ready} ${serving} ${terminating}`, nodeName, zone, kind, namespace, name, uid, deprecatedTopology];
  };
  return semanticallyEqual(rest(a), rest(b));
}

/** `namespace/name` of the service, or of the Endpoints, that a slice belongs to. */
export function ownerKeyOf({ metadata }: EndpointSlice): string | undefined {
  const name = metadata.labels?.[SERVICE_NAME] ?? "";
  return name === "" ? undefined : `${metadata.namespace}/${name}`;
}

/** Uses slices that would be deleted for those that would be created. Mirrors the beginning of finalize, and recycleSlices. */
export function recycle(changes: SliceChanges, mayUse: (slice: EndpointSlice) => boolean): SliceChanges {
  const create = [...changes.create];
  const update = [...changes.update];
  const rest: EndpointSlice[] = [];
  for (const old of changes.delete) {
    const slice = create.at(-1);
    if (slice === undefined || slice.addressType !== old.addressType || !mayUse(old)) {
      rest.push(old);
      continue;
    }
    create.pop();
    const { generateName: _generated, ...metadata } = slice.metadata;
    update.push({ ...slice, metadata: { ...metadata, name: old.metadata.name ?? "" } });
  }
  return { create, update, delete: rest };
}
