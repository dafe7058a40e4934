import type { V1Pod } from "@kubernetes/client-node";
import { badRequest, type FieldError } from "../../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { forbidden, invalidValue } from "../../rest/field-errors.js";

/**
 * Checks a pod and a request before the API server contacts a kubelet for a log or a stream.
 *
 * Mirrors pkg/registry/core/pod/strategy.go (LogLocation, streamLocation, PortForwardLocation).
 */

/** "" until the pod is bound. */
export function nodeNameOf({ spec }: Wire<V1Pod>): string {
  return spec?.nodeName ?? "";
}

/** @throws StatusError 400 */
export function requireNode(pod: Wire<V1Pod>): string {
  const nodeName = nodeNameOf(pod);
  if (nodeName === "") throw badRequest(`pod ${pod.metadata.name ?? ""} does not have a host assigned`);
  return nodeName;
}

/**
 * The requested container, or the only one if the request names no container.
 * Mirrors validateContainer in pkg/registry/core/pod/strategy.go. @throws StatusError 400
 */
export function requireContainer(pod: Wire<V1Pod>, asked: string): string {
  const { spec } = pod;
  const nameOf = ({ name }: { readonly name: string }) => name;
  const names = (spec?.containers ?? []).map(nameOf);
  const initNames = (spec?.initContainers ?? []).map(nameOf);
  const podName = pod.metadata.name ?? "";
  if (asked !== "") {
    const all = [...names, ...initNames, ...(spec?.ephemeralContainers ?? []).map(nameOf)];
    if (!all.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${podName}`);
    return asked;
  }
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  const choice = names.length === 0 ? "" : `, choose one of: [${names.join(" ")}]`;
  const init = initNames.length === 0 ? "" : ` or one of the init containers: [${initNames.join(" ")}]`;
  throw badRequest(`a container name must be specified for pod ${podName}${choice}${choice === "" ? "" : init}`);
}

/** Mirrors ValidatePodLogOptions in pkg/apis/core/validation/validation.go. */
export function validateLogOptions(query: URLSearchParams): FieldError[] {
  const errors: FieldError[] = [];
  const tailLines = numberOf(query, "tailLines");
  if (tailLines !== undefined && tailLines < 0) {
    errors.push(invalidValue("tailLines", tailLines, "must be greater than or equal to 0"));
  }
  const limitBytes = numberOf(query, "limitBytes");
  if (limitBytes !== undefined && limitBytes < 1) {
    errors.push(invalidValue("limitBytes", limitBytes, "must be greater than 0"));
  }
  const sinceSeconds = numberOf(query, "sinceSeconds");
  if (sinceSeconds !== undefined && query.has("sinceTime")) {
    errors.push(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"));
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(invalidValue("sinceSeconds", sinceSeconds, "must be greater than 0"));
  }
  return errors;
}

/** @throws StatusError 400 with Go's message for text that is not a number */
export function numberOf(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === "") return undefined;
  if (!/^[+-]?\d+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  return Number(value);
}
