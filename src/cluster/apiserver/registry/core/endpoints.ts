import type { V1EndpointSlice, V1Endpoints } from "@kubernetes/client-node";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN, NONE } from "../rest/cells.js";
import type { Strategy } from "../rest/definition.js";
import { withMeta } from "../rest/object-meta.js";
import { row } from "../rest/rows.js";
import { PLAIN } from "../rest/stored.js";
import { validateEndpointSlice, validateEndpointSliceUpdate, validateEndpoints } from "./endpoints-validation.js";

/** The endpoints of services. */

const MAX_ENDPOINTS_SHOWN = 3;

/** `10.0.0.1:80,10.0.0.2:80 + 3 more...`; "" if there are addresses, but none is ready. Mirrors formatEndpoints. */
function endpointsCell({ subsets }: Wire<V1Endpoints>): string {
  if ((subsets ?? []).length === 0) return NONE;
  const all = (subsets ?? []).flatMap((subset) => {
    const ports = subset.ports ?? [];
    const addresses = (subset.addresses ?? []).map(({ ip }) => ip);
    if (ports.length === 0) return addresses;
    return ports.flatMap(({ port }) => addresses.map((ip) => `${ip.includes(":") ? `[${ip}]` : ip}:${port}`));
  });
  return shortList(all);
}

function shortList(all: readonly string[]): string {
  const more = all.length - MAX_ENDPOINTS_SHOWN;
  const shown = all.slice(0, MAX_ENDPOINTS_SHOWN).join(",");
  return more > 0 ? `${shown} + ${more} more...` : shown;
}

const endpointsStrategy: Strategy = {
  ...PLAIN,
  allowCreateOnUpdate: true,
  validate: (endpoints: Wire<V1Endpoints>) => validateEndpoints(endpoints),
  validateUpdate: (endpoints: Wire<V1Endpoints>) => validateEndpoints(endpoints),
};

export const ENDPOINTS = row("v1", "Endpoints", "endpoints", endpointsStrategy, {
  shortNames: ["ep"],
  table: {
    columns: [NAME_COLUMN, column("Endpoints", "Addresses and ports of ready endpoints."), AGE_COLUMN],
    cells: (endpoints: Wire<V1Endpoints>, nowMs) => [
      nameOf(endpoints),
      endpointsCell(endpoints),
      ageOf(endpoints, nowMs),
    ],
  },
});

/** A port without a number stands for all ports. Mirrors formatDiscoveryPorts. */
function slicePortsCell({ ports }: Wire<V1EndpointSlice>): string {
  return shortListOrUnset((ports ?? []).map(({ port }) => String(port ?? "*")));
}

function shortListOrUnset(all: readonly string[]): string {
  return all.length === 0 ? "<unset>" : shortList(all);
}

/** Mirrors pkg/registry/discovery/endpointslice/strategy.go: the generation counts changes of anything but metadata. */
const endpointSliceStrategy: Strategy = {
  ...PLAIN,
  prepareForCreate: (slice) => withMeta(slice, { generation: 1 }),
  prepareForUpdate(slice, old) {
    const generation = old.metadata.generation ?? 0;
    const isSame = semanticallyEqual({ ...slice, metadata: {} }, { ...old, metadata: {} });
    return withMeta(slice, { generation: isSame ? generation : generation + 1 });
  },
  validate: (slice: Wire<V1EndpointSlice>) => validateEndpointSlice(slice),
  validateUpdate: (slice: Wire<V1EndpointSlice>, old: Wire<V1EndpointSlice>) => validateEndpointSliceUpdate(slice, old),
};

export const ENDPOINT_SLICES = row("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", endpointSliceStrategy, {
  storageVersion: "discovery.k8s.io/v1beta1",
  table: {
    columns: [
      NAME_COLUMN,
      column("AddressType", "Whether addresses are IPv4, IPv6 or names."),
      column("Ports", "Ports that each endpoint serves."),
      column("Endpoints", "The endpoints' addresses."),
      AGE_COLUMN,
    ],
    cells: (slice: Wire<V1EndpointSlice>, nowMs) => [
      nameOf(slice),
      slice.addressType,
      slicePortsCell(slice),
      shortListOrUnset((slice.endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])),
      ageOf(slice, nowMs),
    ],
  },
});
