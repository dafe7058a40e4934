import type { V1EndpointSlice, V1Endpoints, V1Service, V1ServicePort } from "@kubernetes/client-node";
import { isDns1035Label, isDns1123Label, isPortNumber } from "../../../apimachinery/api/names.js";
import type { FieldError } from "../../../apimachinery/errors.js";
import type { Wire } from "../../../apimachinery/wire.js";
import { isSet } from "../../../util/records.js";
import type { Strategy } from "../definition.js";
import { AGE_COLUMN, ageOf, column, formatLabels, NAME_COLUMN, nameOf, orNone } from "./cells.js";
import { duplicate, invalidValue, notSupported, required } from "./field-errors.js";
import { action, row, statusOf } from "./rows.js";
import { PLAIN, specAndStatus } from "./stored.js";

/** Services and their endpoints. Cluster IPs come from an admission plugin. */

const SERVICE_TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const SESSION_AFFINITIES = ["ClientIP", "None"];
const PROTOCOLS = ["SCTP", "TCP", "UDP"];

/** Mirrors the parts of ValidateService that do not need address allocators. */
function validateService({ spec = {} }: Wire<V1Service>): FieldError[] {
  const { type = "", sessionAffinity: affinity = "" } = spec;
  const ports = spec.ports ?? [];
  const isHeadless = spec.clusterIP === "None";
  const errors: FieldError[] = [];
  if (ports.length === 0 && !isHeadless && type !== "ExternalName") errors.push(required("spec.ports"));
  const names = new Set<string>();
  ports.forEach((port, index) => {
    errors.push(...validateServicePort(port, `spec.ports[${index}]`, ports.length > 1, names));
  });
  if (affinity === "") errors.push(required("spec.sessionAffinity"));
  else if (!SESSION_AFFINITIES.includes(affinity)) {
    errors.push(notSupported("spec.sessionAffinity", affinity, SESSION_AFFINITIES));
  }
  if (type === "") errors.push(required("spec.type"));
  else if (!SERVICE_TYPES.includes(type)) errors.push(notSupported("spec.type", type, SERVICE_TYPES));
  if (type === "ExternalName" && !spec.externalName) errors.push(required("spec.externalName"));
  return errors;
}

function validateServicePort(
  { name = "", port = 0, protocol = "" }: Wire<V1ServicePort>,
  field: string,
  isNameRequired: boolean,
  names: Set<string>,
): FieldError[] {
  const errors: FieldError[] = [];
  if (name === "") {
    if (isNameRequired) errors.push(required(`${field}.name`));
  } else {
    errors.push(...isDns1123Label(name).map((one) => invalidValue(`${field}.name`, name, one)));
    if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
    names.add(name);
  }
  errors.push(...isPortNumber(port).map((one) => invalidValue(`${field}.port`, port, one)));
  if (protocol === "") errors.push(required(`${field}.protocol`));
  else if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${field}.protocol`, protocol, PROTOCOLS));
  return errors;
}

/** Sets what an allocator would set: one family, clusterIPs from clusterIP. Mirrors pkg/registry/core/service/storage. */
function withAddresses(service: Wire<V1Service>): Wire<V1Service> {
  const { spec = {} } = service;
  if (spec.type === "ExternalName") return service;
  const { clusterIP: clusterIp = "" } = spec;
  return {
    ...service,
    spec: {
      ...spec,
      ...(clusterIp === "" || isSet(spec.clusterIPs) ? {} : { clusterIPs: [clusterIp] }),
      ipFamilies: spec.ipFamilies ?? ["IPv4"],
      ipFamilyPolicy: spec.ipFamilyPolicy ?? "SingleStack",
    },
  };
}

/** An update without a cluster IP keeps it. Mirrors patchAllocatedValues in pkg/registry/core/service/storage. */
function withOldAddress(service: Wire<V1Service>, { spec: before = {} }: Wire<V1Service>): Wire<V1Service> {
  const { spec = {} } = service;
  if (spec.type === "ExternalName" || (spec.clusterIP ?? "") !== "" || before.clusterIP === undefined) return service;
  return { ...service, spec: { ...spec, clusterIP: before.clusterIP } };
}

const serviceStrategy: Strategy = specAndStatus({
  freshStatus: () => ({ loadBalancer: {} }),
  strategy: {
    validateName: isDns1035Label,
    prepareForCreate: withAddresses,
    prepareForUpdate: (service, old) => withAddresses(withOldAddress(service, old)),
    validate: validateService,
    validateUpdate: validateService,
  },
});

function portsCell(ports: readonly Wire<V1ServicePort>[] | null | undefined): string {
  const parts = (ports ?? []).map(
    ({ port, nodePort = 0, protocol = "" }) => `${port}${nodePort === 0 ? "" : `:${nodePort}`}/${protocol}`,
  );
  return orNone(parts.join(","));
}

/** Mirrors getServiceExternalIP. */
function externalIpCell({ spec = {}, status }: Wire<V1Service>): string {
  const externalIps = (spec.externalIPs ?? []).join(",");
  const ingress = status?.loadBalancer?.ingress ?? [];
  const balanced = ingress.map(({ ip, hostname }) => ip || hostname || "").join(",");
  switch (spec.type) {
    case "ExternalName":
      return spec.externalName ?? "";
    case "LoadBalancer": {
      const all = [balanced, externalIps].filter((one) => one !== "").join(",");
      return all === "" ? "<pending>" : all;
    }
    default:
      return orNone(externalIps);
  }
}

export const SERVICES = row("v1", "Service", "services", serviceStrategy, {
  shortNames: ["svc"],
  categories: ["all"],
  deleteReturnsObject: true,
  selectableFields: ({ spec }: Wire<V1Service>) => ({
    "spec.clusterIP": spec?.clusterIP ?? "",
    "spec.type": spec?.type ?? "",
  }),
  subresources: [action("proxy", "ServiceProxyOptions", ["create", "delete", "get", "patch", "update"]), statusOf()],
  table: {
    columns: [
      NAME_COLUMN,
      column("Type", "How the service is reached."),
      column("Cluster-IP", "The address inside the cluster, or None for a headless service."),
      column("External-IP", "Addresses from outside the cluster."),
      column("Port(s)", "Ports of the service."),
      AGE_COLUMN,
      column("Selector", "Labels of the pods that serve it.", { wide: true }),
    ],
    cells(service: Wire<V1Service>, nowMs) {
      const { spec = {} } = service;
      return [
        nameOf(service),
        spec.type ?? "",
        orNone(spec.clusterIP ?? ""),
        externalIpCell(service),
        portsCell(spec.ports),
        ageOf(service, nowMs),
        formatLabels(spec.selector),
      ];
    },
  },
});

const MAX_ENDPOINTS_SHOWN = 3;

/** `10.0.0.1:80,10.0.0.2:80 + 3 more...`. Mirrors formatEndpoints. */
function endpointsCell({ subsets }: Wire<V1Endpoints>): string {
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
  return orNone(more > 0 ? `${shown} + ${more} more...` : shown);
}

export const ENDPOINTS = row("v1", "Endpoints", "endpoints", PLAIN, {
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

export const ENDPOINT_SLICES = row("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", PLAIN, {
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
