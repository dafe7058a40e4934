import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { isDns1035Label, isDns1123Label, isPortNumber } from "../../../apimachinery/api/names.js";
import type { FieldError } from "../../../apimachinery/errors.js";
import { isSet } from "../../../util/records.js";
import type { Strategy } from "../definition.js";
import { type Fields, fields, items, number, text } from "./access.js";
import { AGE_COLUMN, ageOf, column, formatLabels, NAME_COLUMN, nameOf, orNone } from "./cells.js";
import { duplicate, invalidValue, notSupported, required } from "./field-errors.js";
import { row, special, statusOf } from "./rows.js";
import { PLAIN, specAndStatus } from "./stored.js";

/** Services and their endpoints. Differs: no addresses are allocated, so a service keeps the cluster IP of its request. */

const SERVICE_TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const SESSION_AFFINITIES = ["ClientIP", "None"];
const PROTOCOLS = ["SCTP", "TCP", "UDP"];

/** Mirrors the parts of ValidateService that do not need address allocators. */
function validateService(service: KubeObject): FieldError[] {
  const spec = fields(service.spec);
  const type = text(spec.type);
  const ports = items(spec.ports).map(fields);
  const isHeadless = spec.clusterIP === "None";
  const errors: FieldError[] = [];
  if (ports.length === 0 && !isHeadless && type !== "ExternalName") errors.push(required("spec.ports"));
  const names = new Set<string>();
  ports.forEach((port, index) => {
    errors.push(...validateServicePort(port, `spec.ports[${index}]`, ports.length > 1, names));
  });
  const affinity = text(spec.sessionAffinity);
  if (affinity === "") errors.push(required("spec.sessionAffinity"));
  else if (!SESSION_AFFINITIES.includes(affinity)) {
    errors.push(notSupported("spec.sessionAffinity", affinity, SESSION_AFFINITIES));
  }
  if (type === "") errors.push(required("spec.type"));
  else if (!SERVICE_TYPES.includes(type)) errors.push(notSupported("spec.type", type, SERVICE_TYPES));
  if (type === "ExternalName" && text(spec.externalName) === "") errors.push(required("spec.externalName"));
  return errors;
}

function validateServicePort(port: Fields, field: string, isNameRequired: boolean, names: Set<string>): FieldError[] {
  const name = text(port.name);
  const value = number(port.port) ?? 0;
  const protocol = text(port.protocol);
  const errors: FieldError[] = [];
  if (name === "") {
    if (isNameRequired) errors.push(required(`${field}.name`));
  } else {
    errors.push(...isDns1123Label(name).map((one) => invalidValue(`${field}.name`, name, one)));
    if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
    names.add(name);
  }
  errors.push(...isPortNumber(value).map((one) => invalidValue(`${field}.port`, value, one)));
  if (protocol === "") errors.push(required(`${field}.protocol`));
  else if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${field}.protocol`, protocol, PROTOCOLS));
  return errors;
}

/** Sets what an allocator would set: one family, clusterIPs from clusterIP. Mirrors pkg/registry/core/service/storage. */
function withAddresses(service: KubeObject): KubeObject {
  const spec = fields(service.spec);
  if (spec.type === "ExternalName") return service;
  const clusterIp = text(spec.clusterIP);
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

const serviceStrategy: Strategy = specAndStatus({
  freshStatus: () => ({ loadBalancer: {} }),
  strategy: {
    validateName: isDns1035Label,
    prepareForCreate: withAddresses,
    prepareForUpdate: withAddresses,
    validate: validateService,
    validateUpdate: validateService,
  },
});

function portsCell(ports: unknown): string {
  const parts = items(ports).map((one) => {
    const port = fields(one);
    const nodePort = number(port.nodePort) ?? 0;
    return `${number(port.port) ?? 0}${nodePort === 0 ? "" : `:${nodePort}`}/${text(port.protocol)}`;
  });
  return orNone(parts.join(","));
}

/** Mirrors getServiceExternalIP. */
function externalIpCell(service: KubeObject): string {
  const spec = fields(service.spec);
  const externalIps = items(spec.externalIPs).map(text).join(",");
  const ingress = items(fields(fields(service.status).loadBalancer).ingress).map(fields);
  const balanced = ingress.map((one) => (text(one.ip) === "" ? text(one.hostname) : text(one.ip))).join(",");
  switch (spec.type) {
    case "ExternalName":
      return text(spec.externalName);
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
  selectableFields: (service) => ({
    "spec.clusterIP": text(fields(service.spec).clusterIP),
    "spec.type": text(fields(service.spec).type),
  }),
  subresources: [special("proxy", "ServiceProxyOptions", ["create", "delete", "get", "patch", "update"]), statusOf()],
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
    cells(service, nowMs) {
      const spec = fields(service.spec);
      return [
        nameOf(service),
        text(spec.type),
        orNone(text(spec.clusterIP)),
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
function endpointsCell(subsets: unknown): string {
  const all = items(subsets).flatMap((one) => {
    const subset = fields(one);
    const ports = items(subset.ports).map(fields);
    const addresses = items(subset.addresses).map((address) => text(fields(address).ip));
    if (ports.length === 0) return addresses;
    return ports.flatMap((port) =>
      addresses.map((ip) => `${ip.includes(":") ? `[${ip}]` : ip}:${number(port.port) ?? 0}`),
    );
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
    cells: (endpoints, nowMs) => [nameOf(endpoints), endpointsCell(endpoints.subsets), ageOf(endpoints, nowMs)],
  },
});

/** A port without a number stands for all ports. Mirrors formatDiscoveryPorts. */
function slicePortsCell(ports: unknown): string {
  return shortListOrUnset(items(ports).map((one) => (isSet(fields(one).port) ? String(fields(one).port) : "*")));
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
    cells: (slice, nowMs) => [
      nameOf(slice),
      text(slice.addressType),
      slicePortsCell(slice.ports),
      shortListOrUnset(items(slice.endpoints).flatMap((one) => items(fields(one).addresses).map(text))),
      ageOf(slice, nowMs),
    ],
  },
});
