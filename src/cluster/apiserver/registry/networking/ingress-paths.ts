import type { V1HTTPIngressPath, V1IngressBackend, V1TypedLocalObjectReference } from "@kubernetes/client-node";
import {
  isDns1035Label,
  isDns1123Subdomain,
  isPathSegmentName,
  isPortName,
  isPortNumber,
} from "../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import { invalidValue, notSupported, required } from "../rest/field-errors.js";

/** Mirrors validateHTTPIngressPath and validateIngressBackend in pkg/apis/networking/validation/validation.go. */

const INVALID_SEQUENCES = ["//", "/./", "/../", "%2f", "%2F"];
const INVALID_SUFFIXES = ["/..", "/."];
// Sorted, because Go prints sets sorted.
const PATH_TYPES = ["Exact", "ImplementationSpecific", "Prefix"];

export function validatePath({ path = "", pathType, backend }: Wire<V1HTTPIngressPath>, field: string): FieldError[] {
  if (!isSet(pathType)) return [required(`${field}.pathType`, "pathType must be specified")];
  const invalid = (why: string) => invalidValue(`${field}.path`, path, why);
  const errors: FieldError[] = [];
  if (!PATH_TYPES.includes(pathType)) errors.push(notSupported(`${field}.pathType`, pathType, PATH_TYPES));
  else if (pathType === "ImplementationSpecific") {
    if (path !== "" && !path.startsWith("/")) errors.push(invalid("must be an absolute path"));
  } else {
    if (!path.startsWith("/")) errors.push(invalid("must be an absolute path"));
    for (const one of INVALID_SEQUENCES) if (path.includes(one)) errors.push(invalid(`must not contain '${one}'`));
    for (const one of INVALID_SUFFIXES) if (path.endsWith(one)) errors.push(invalid(`cannot end with '${one}'`));
  }
  return [...errors, ...validateBackend(backend, `${field}.backend`)];
}

export function validateBackend(backend: Wire<V1IngressBackend> | undefined, field: string): FieldError[] {
  const { resource, service } = backend ?? {};
  const invalid = (why: string) => invalidValue(field, "", why);
  if (resource && service) return [invalid("cannot set both resource and service backends")];
  if (resource) return validateReference(resource, `${field}.resource`);
  if (!service) return [invalid("resource or service backend is required")];
  const nameField = `${field}.service.name`;
  const errors =
    service.name === ""
      ? [required(nameField)]
      : isDns1035Label(service.name).map((one) => invalidValue(nameField, service.name, one));
  const { name: portName = "", number = 0 } = service.port ?? {};
  if (portName !== "" && number !== 0) errors.push(invalid("cannot set both port name & port number"));
  else if (portName !== "") {
    errors.push(...isPortName(portName).map((one) => invalidValue(`${field}.service.port.name`, portName, one)));
  } else if (number !== 0) {
    errors.push(...isPortNumber(number).map((one) => invalidValue(`${field}.service.port.number`, number, one)));
  } else errors.push(required(field, "port name or number is required"));
  return errors;
}

/** Mirrors validateIngressTypedLocalObjectReference. */
export function validateReference(
  { apiGroup, kind = "", name = "" }: Wire<V1TypedLocalObjectReference>,
  field: string,
): FieldError[] {
  const segment = (part: string, value: string) =>
    value === ""
      ? [required(`${field}.${part}`, `${part} is required`)]
      : isPathSegmentName(value).map((one) => invalidValue(`${field}.${part}`, value, one));
  return [
    ...(isSet(apiGroup)
      ? isDns1123Subdomain(apiGroup).map((one) => invalidValue(`${field}.apiGroup`, apiGroup, one))
      : []),
    ...segment("kind", kind),
    ...segment("name", name),
  ];
}
