import { isPortName, isPortNumber } from "../../../../apimachinery/api/names.js";
import type { FieldError } from "../../../../apimachinery/errors.js";
import { isSet } from "../../../../util/records.js";
import { type Fields, fields, items, number, text } from "../access.js";
import { forbidden, invalidValue, notSupported, required } from "../field-errors.js";

/** Mirrors validateProbe, validateLifecycle and validateHandler in pkg/apis/core/validation/validation.go. */

const PROBES = ["livenessProbe", "readinessProbe", "startupProbe"] as const;
const NON_NEGATIVE = "must be greater than or equal to 0";
const PROBE_NUMBERS = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;
const SCHEMES = ["HTTP", "HTTPS"];

export function validateProbes(container: Fields, path: string): FieldError[] {
  return PROBES.flatMap((name) => {
    if (!isSet(container[name])) return [];
    const probe = fields(container[name]);
    const field = `${path}.${name}`;
    const errors = validateProbe(probe, field);
    const successThreshold = number(probe.successThreshold);
    if (name === "readinessProbe") {
      if (isSet(probe.terminationGracePeriodSeconds)) {
        const seconds = number(probe.terminationGracePeriodSeconds);
        errors.push(
          invalidValue(`${field}.terminationGracePeriodSeconds`, seconds, "must not be set for readinessProbes"),
        );
      }
    } else if (successThreshold !== undefined && successThreshold !== 1) {
      errors.push(invalidValue(`${field}.successThreshold`, successThreshold, "must be 1"));
    }
    return errors;
  });
}

function validateProbe(probe: Fields, path: string): FieldError[] {
  const errors = validateHandler(probe, path, ["exec", "httpGet", "tcpSocket", "grpc"]);
  for (const name of PROBE_NUMBERS) {
    const value = number(probe[name]);
    if (value !== undefined && value < 0) errors.push(invalidValue(`${path}.${name}`, value, NON_NEGATIVE));
  }
  const grace = number(probe.terminationGracePeriodSeconds);
  if (grace !== undefined && grace <= 0) {
    errors.push(invalidValue(`${path}.terminationGracePeriodSeconds`, grace, "must be greater than 0"));
  }
  return errors;
}

export function validateLifecycle(lifecycle: unknown, path: string): FieldError[] {
  const hooks = fields(lifecycle);
  return ["postStart", "preStop"]
    .filter((name) => isSet(hooks[name]))
    .flatMap((name) => validateHandler(fields(hooks[name]), `${path}.${name}`, ["exec", "httpGet", "tcpSocket"]));
}

function validateHandler(handler: Fields, path: string, kinds: readonly string[]): FieldError[] {
  const given = kinds.filter((kind) => isSet(handler[kind]));
  if (given.length === 0) return [required(path, "must specify a handler type")];
  return given.flatMap((kind, index) => {
    const field = `${path}.${kind}`;
    if (index > 0) return [forbidden(field, "may not specify more than 1 handler type")];
    return validateAction(kind, fields(handler[kind]), field);
  });
}

function validateAction(kind: string, action: Fields, field: string): FieldError[] {
  switch (kind) {
    case "exec":
      return items(action.command).length === 0 ? [required(`${field}.command`)] : [];
    case "httpGet": {
      const errors = text(action.path) === "" ? [required(`${field}.path`)] : [];
      errors.push(...validatePort(action.port, `${field}.port`));
      const scheme = text(action.scheme);
      if (scheme !== "" && !SCHEMES.includes(scheme)) errors.push(notSupported(`${field}.scheme`, scheme, SCHEMES));
      return errors;
    }
    default:
      return validatePort(action.port, `${field}.port`);
  }
}

/** A number, or the name of one of the container's ports. */
function validatePort(port: unknown, field: string): FieldError[] {
  if (typeof port === "string") return isPortName(port).map((one) => invalidValue(field, port, one));
  const value = number(port) ?? 0;
  return isPortNumber(value).map((one) => invalidValue(field, value, one));
}
