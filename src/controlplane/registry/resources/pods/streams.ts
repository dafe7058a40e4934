import type { KubeObject, Status } from "../../../../api/meta.js";
import type { SpecialHandler, SpecialRequest } from "../../../apiserver/special.js";
import { badRequest, type FieldError, invalid, statusError } from "../../../errors.js";
import { fields, items, text } from "../access.js";
import { forbidden, invalidValue } from "../field-errors.js";

/**
 * What the API server says to log, exec, attach and port-forward before it turns to a kubelet.
 *
 * Mirrors pkg/registry/core/pod/strategy.go (LogLocation, streamLocation, PortForwardLocation) and rest/subresources.go.
 * Differs: requests are not passed on to kubelets yet, which a log says with a 501.
 */

const NO_CONTENT: Status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" };

export const podLog: SpecialHandler = async (request) => {
  const { registry, namespace, name = "", query } = request;
  const errors = validateLogOptions(query);
  if (errors.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, name, errors);
  const pod = await registry.store("pods").get(namespace, name);
  requireContainer(pod, query.get("container") ?? "");
  // Nothing has run yet: an empty log.
  if (nodeNameOf(pod) === "") return { code: 204, body: NO_CONTENT };
  throw statusError(501, "NotImplemented", `logs of pods on a node are not passed on by this embedded API server`);
};

/** exec and attach; an upgraded connection does not come this way. */
export const podStream: SpecialHandler = async (request) => {
  const pod = await podOf(request);
  requireContainer(pod, request.query.get("container") ?? "");
  return refuseStream(pod);
};

export const podPortForward: SpecialHandler = async (request) => refuseStream(await podOf(request));

function podOf({ registry, namespace, name = "" }: SpecialRequest): Promise<KubeObject> {
  return registry.store("pods").get(namespace, name);
}

function refuseStream(pod: KubeObject): never {
  if (nodeNameOf(pod) === "") throw badRequest(`pod ${pod.metadata.name ?? ""} does not have a host assigned`);
  throw badRequest("Upgrade request required");
}

function nodeNameOf(pod: KubeObject): string {
  return text(fields(pod.spec).nodeName);
}

/** Mirrors validateContainer in pkg/registry/core/pod/strategy.go. @throws StatusError 400 */
function requireContainer(pod: KubeObject, asked: string): void {
  const spec = fields(pod.spec);
  const namesOf = (containers: unknown): string[] => items(containers).map((one) => text(fields(one).name));
  const names = namesOf(spec.containers);
  const initNames = namesOf(spec.initContainers);
  const podName = pod.metadata.name ?? "";
  if (asked !== "") {
    const all = [...names, ...initNames, ...namesOf(spec.ephemeralContainers)];
    if (!all.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${podName}`);
    return;
  }
  if (names.length === 1) return;
  const choice = names.length === 0 ? "" : `, choose one of: [${names.join(" ")}]`;
  const init = initNames.length === 0 ? "" : ` or one of the init containers: [${initNames.join(" ")}]`;
  throw badRequest(`a container name must be specified for pod ${podName}${choice}${choice === "" ? "" : init}`);
}

/** Mirrors ValidatePodLogOptions in pkg/apis/core/validation/validation.go. */
function validateLogOptions(query: URLSearchParams): FieldError[] {
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

/** @throws StatusError 400 in Go's words for what is no number */
function numberOf(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === "") return undefined;
  if (!/^[+-]?\d+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  return Number(value);
}
