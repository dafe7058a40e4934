import { isIPv4, isIPv6 } from "node:net";
import type { V1EndpointSlice, V1Endpoints } from "@kubernetes/client-node";
import {
  isDns1123Label,
  isDns1123Subdomain,
  isPortNumber,
  isQualifiedName,
  isValidIp,
  nonSpecialIp,
} from "../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import {
  addErrors,
  duplicate,
  IMMUTABLE,
  invalidValue,
  notSupported,
  required,
  tooMany,
} from "../rest/field-errors.js";

type Endpoints = Wire<V1Endpoints>;
type Subset = NonNullable<Endpoints["subsets"]>[number];
type Address = NonNullable<Subset["addresses"]>[number];
type Port = NonNullable<Subset["ports"]>[number];
type EndpointSlice = Wire<V1EndpointSlice>;
type Endpoint = EndpointSlice["endpoints"][number];

const PROTOCOLS = ["SCTP", "TCP", "UDP"];
const ADDRESS_TYPES = ["FQDN", "IPv4", "IPv6"];
const MAX_ENDPOINTS = 1_000;
const MAX_ADDRESSES = 100;
const MAX_PORTS = 100;

/** Mirrors ValidateEndpoints in pkg/apis/core/validation/validation.go. */
export function validateEndpoints({ subsets }: Endpoints): FieldError[] {
  const errors: FieldError[] = [];
  subsets?.forEach((subset, index) => {
    addErrors(errors, validateSubset(subset, `subsets[${index}]`));
  });
  return errors;
}

function validateSubset(subset: Subset, field: string): FieldError[] {
  const [ready, notReady, ports] = [subset.addresses ?? [], subset.notReadyAddresses ?? [], subset.ports ?? []];
  const errors: FieldError[] = [];
  if (ready.length === 0 && notReady.length === 0) {
    errors.push(required(field, "must specify `addresses` or `notReadyAddresses`"));
  }
  ready.forEach((address, i) => {
    addErrors(errors, validateAddress(address, `${field}.addresses[${i}]`));
  });
  notReady.forEach((address, i) => {
    addErrors(errors, validateAddress(address, `${field}.notReadyAddresses[${i}]`));
  });
  ports.forEach((port, i) => {
    addErrors(errors, validatePort(port, `${field}.ports[${i}]`, ports.length > 1));
  });
  return errors;
}

function validateAddress({ ip, hostname = "", nodeName }: Address, field: string): FieldError[] {
  const invalid = (name: string, value: unknown) => (detail: string) => invalidValue(`${field}.${name}`, value, detail);
  return [
    ...isValidIp(ip).map(invalid("ip", ip)),
    ...(hostname === "" ? [] : isDns1123Label(hostname).map(invalid("hostname", hostname))),
    ...(isSet(nodeName) ? isDns1123Subdomain(nodeName).map(invalid("nodeName", nodeName)) : []),
    ...nonSpecialIp(ip).map(invalid("ip", ip)),
  ];
}

function validatePort(port: Port, field: string, isNameRequired: boolean): FieldError[] {
  const { name = "", protocol = "", appProtocol } = port;
  const errors: FieldError[] = [];
  if (name !== "") errors.push(...isDns1123Label(name).map((one) => invalidValue(`${field}.name`, name, one)));
  else if (isNameRequired) errors.push(required(`${field}.name`));
  errors.push(...isPortNumber(port.port).map((one) => invalidValue(`${field}.port`, port.port, one)));
  return [...errors, ...validateProtocols(protocol, appProtocol, field)];
}

function validateProtocols(protocol: string, appProtocol: string | null | undefined, field: string): FieldError[] {
  const errors: FieldError[] = [];
  if (protocol === "") errors.push(required(`${field}.protocol`));
  else if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${field}.protocol`, protocol, PROTOCOLS));
  if (!isSet(appProtocol)) return errors;
  const appField = `${field}.appProtocol`;
  return [...errors, ...isQualifiedName(appProtocol).map((one) => invalidValue(appField, appProtocol, one))];
}

/** Mirrors ValidateEndpointSlice in pkg/apis/discovery/validation/validation.go. */
export function validateEndpointSlice(slice: EndpointSlice): FieldError[] {
  const { addressType = "" } = slice;
  const errors: FieldError[] = [];
  if (addressType === "") errors.push(required("addressType"));
  else if (!ADDRESS_TYPES.includes(addressType)) {
    errors.push(notSupported("addressType", addressType, ADDRESS_TYPES));
  }
  const endpoints = slice.endpoints ?? [];
  if (endpoints.length > MAX_ENDPOINTS) errors.push(tooMany("endpoints", endpoints.length, MAX_ENDPOINTS));
  else {
    endpoints.forEach((endpoint, i) => {
      addErrors(errors, validateEndpoint(endpoint, addressType, `endpoints[${i}]`));
    });
  }
  return [...errors, ...validateSlicePorts(slice)];
}

/** Mirrors ValidateEndpointSliceUpdate. */
export function validateEndpointSliceUpdate(slice: EndpointSlice, old: EndpointSlice): FieldError[] {
  const errors = validateEndpointSlice(slice);
  if (slice.addressType === old.addressType) return errors;
  return [...errors, invalidValue("addressType", slice.addressType, IMMUTABLE)];
}

function validateEndpoint(endpoint: Endpoint, addressType: string, field: string): FieldError[] {
  const { nodeName, hostname } = endpoint;
  const addresses = endpoint.addresses ?? [];
  const errors: FieldError[] = [];
  if (addresses.length === 0) errors.push(required(`${field}.addresses`, "must contain at least 1 address"));
  if (addresses.length > MAX_ADDRESSES) errors.push(tooMany(`${field}.addresses`, addresses.length, MAX_ADDRESSES));
  addresses.forEach((address, i) => {
    const problems = addressProblems(address, addressType);
    errors.push(...problems.map((one) => invalidValue(`${field}.addresses[${i}]`, address, one)));
  });
  if (isSet(nodeName)) {
    errors.push(...isDns1123Subdomain(nodeName).map((one) => invalidValue(`${field}.nodeName`, nodeName, one)));
  }
  if (!isSet(hostname)) return errors;
  return [...errors, ...isDns1123Label(hostname).map((one) => invalidValue(`${field}.hostname`, hostname, one))];
}

function addressProblems(address: string, addressType: string): string[] {
  switch (addressType) {
    case "IPv4":
      return isIPv4(address) ? nonSpecialIp(address) : ["must be a valid IPv4 address"];
    case "IPv6":
      return isIPv6(address) ? nonSpecialIp(address) : ["must be a valid IPv6 address"];
    case "FQDN":
      return isDns1123Subdomain(address.replace(/\.$/, ""));
    default:
      return [];
  }
}

function validateSlicePorts({ ports }: EndpointSlice): FieldError[] {
  const all = ports ?? [];
  if (all.length > MAX_PORTS) return [tooMany("ports", all.length, MAX_PORTS)];
  const names = new Set<string>();
  return all.flatMap(({ name = "", protocol = "", appProtocol }, index) => {
    const field = `ports[${index}]`;
    const errors: FieldError[] = [];
    if (name !== "") errors.push(...isDns1123Label(name).map((one) => invalidValue(`${field}.name`, name, one)));
    if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
    names.add(name);
    return [...errors, ...validateProtocols(protocol, appProtocol, field)];
  });
}
