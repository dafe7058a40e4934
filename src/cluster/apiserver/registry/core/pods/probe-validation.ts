import type { V1Probe } from "@kubernetes/client-node";
import { isPortName, isPortNumber } from "../../../../../staging/apimachinery/api/names.js";
import type { V1Container } from "../../../../../staging/apimachinery/api/pod.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../../util/records.js";
import { forbidden, invalidValue, notSupported, required } from "../../rest/field-errors.js";

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

export function validateProbes(container: V1Container, path: string): FieldError[] {
  return PROBES.flatMap((name) => {
    const probe = container[name];
    if (!probe) return [];
    const field = `${path}.${name}`;
    const errors = validateProbe(probe, field);
    const { successThreshold, terminationGracePeriodSeconds: seconds } = probe;
    if (name === "readinessProbe") {
      if (isSet(seconds)) {
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

function validateProbe(probe: Wire<V1Probe>, path: string): FieldError[] {
  const errors = validateHandler(probe, path, ["exec", "httpGet", "tcpSocket", "grpc"]);
  for (const name of PROBE_NUMBERS) {
    const value = probe[name];
    if (value !== undefined && value < 0) errors.push(invalidValue(`${path}.${name}`, value, NON_NEGATIVE));
  }
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0) {
    errors.push(invalidValue(`${path}.terminationGracePeriodSeconds`, grace, "must be greater than 0"));
  }
  return errors;
}

export function validateLifecycle(lifecycle: V1Container["lifecycle"], path: string): FieldError[] {
  return (["postStart", "preStop"] as const).flatMap((name) => {
    const hook = lifecycle?.[name];
    return hook ? validateHandler(hook, `${path}.${name}`, ["exec", "httpGet", "tcpSocket"]) : [];
  });
}

type HandlerKind = "exec" | "httpGet" | "tcpSocket" | "grpc";
type Handler = Pick<Wire<V1Probe>, HandlerKind>;

function validateHandler(handler: Handler, path: string, kinds: readonly HandlerKind[]): FieldError[] {
  const given = kinds.filter((kind) => isSet(handler[kind]));
  if (given.length === 0) return [required(path, "must specify a handler type")];
  return given.flatMap((kind, index) => {
    const field = `${path}.${kind}`;
    if (index > 0) return [forbidden(field, "may not specify more than 1 handler type")];
    return validateAction(kind, handler, field);
  });
}

function validateAction(kind: HandlerKind, handler: Handler, field: string): FieldError[] {
  switch (kind) {
    case "exec":
      return (handler.exec?.command ?? []).length === 0 ? [required(`${field}.command`)] : [];
    case "httpGet": {
      const { path = "", port, scheme = "" } = handler.httpGet ?? {};
      const errors = path === "" ? [required(`${field}.path`)] : [];
      errors.push(...validatePort(port, `${field}.port`));
      if (scheme !== "" && !SCHEMES.includes(scheme)) errors.push(notSupported(`${field}.scheme`, scheme, SCHEMES));
      return errors;
    }
    default:
      return validatePort(handler[kind]?.port, `${field}.port`);
  }
}

/** A number, or the name of one of the container's ports. */
function validatePort(port: number | string | undefined, field: string): FieldError[] {
  if (typeof port === "string") return isPortName(port).map((one) => invalidValue(field, port, one));
  return isPortNumber(port ?? 0).map((one) => invalidValue(field, port ?? 0, one));
}
