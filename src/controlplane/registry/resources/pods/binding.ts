import type { KubeObject, Status } from "../../../../apimachinery/api/meta.js";
import { badRequest, conflict, internalError } from "../../../../apimachinery/errors.js";
import type { Clock } from "../../../../util/clock.js";
import type { SpecialHandler, SpecialRequest } from "../../../apiserver/special.js";
import { timestamp } from "../../object-meta.js";
import { type Fields, fields, items, text } from "../access.js";
import { gateNames } from "./scheduling-gates.js";

/** The response to most requests that return no object. */
export const CREATED: { readonly code: number; readonly body: Status } = {
  code: 201,
  body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 },
};

/**
 * Binds a pod to a node, once: `POST pods/binding`, or `POST bindings` as the first schedulers did.
 *
 * Mirrors pkg/registry/core/pod/storage/storage.go (BindingREST.Create, assignPod). The node does not have to exist.
 */
export function bindingHandler(clock: Clock): SpecialHandler {
  return async (request) => {
    const { context, registry, namespace, body } = request;
    const name = bindingName(request);
    const problem = targetProblem(body);
    // Upstream returns a plain error here instead of a Status, hence 500.
    if (problem !== undefined) throw internalError(problem);
    const nodeName = text(fields(body?.target).name);
    const annotations = body?.metadata.annotations;
    await registry.store("pods").update(context, namespace, name, "binding", (pod) => {
      if (pod === undefined) throw internalError(`pod ${name} is gone`);
      const why = assignmentProblem(pod);
      if (why !== undefined) throw conflict({ group: "", resource: "pods/binding" }, name, why);
      return assignPod(pod, nodeName, annotations, timestamp(clock.now()));
    });
    return CREATED;
  };
}

function bindingName({ name, body }: SpecialRequest): string {
  const bound = body?.metadata.name ?? "";
  if (name !== undefined && bound !== "" && bound !== name) {
    throw badRequest("name in URL does not match name in Binding object");
  }
  return name ?? bound;
}

/** Mirrors ValidatePodBinding in pkg/apis/core/validation/validation.go. */
function targetProblem(binding: KubeObject | undefined): string | undefined {
  const target = fields(binding?.target);
  const kind = text(target.kind);
  const problems: string[] = [];
  if (kind !== "" && kind !== "Node") {
    problems.push(`target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`);
  }
  if (text(target.name) === "") problems.push("target.name: Required value");
  if (problems.length <= 1) return problems[0];
  return `[${problems.join(", ")}]`;
}

function assignmentProblem(pod: KubeObject): string | undefined {
  const nodeName = text(fields(pod.spec).nodeName);
  const name = pod.metadata.name ?? "";
  if (pod.metadata.deletionTimestamp !== undefined) return `pod ${name} is being deleted, cannot be assigned to a host`;
  if (gateNames(fields(pod.spec)).length > 0) return `pod ${name} has non-empty .spec.schedulingGates`;
  return nodeName === "" ? undefined : `pod ${name} is already assigned to node ${JSON.stringify(nodeName)}`;
}

/** Mirrors setPodHostAndAnnotations. */
function assignPod(
  pod: KubeObject,
  nodeName: string,
  annotations: KubeObject["metadata"]["annotations"],
  now: string,
): KubeObject {
  const { metadata } = pod;
  return {
    ...pod,
    metadata:
      annotations === undefined ? metadata : { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    spec: { ...fields(pod.spec), nodeName },
    status: withScheduled(fields(pod.status), now),
  };
}

/** Mirrors UpdatePodCondition in pkg/api/pod/util.go: the time is that of the last status change. */
function withScheduled(status: Fields, now: string): Fields {
  const conditions = items(status.conditions).map(fields);
  const before = conditions.find((one) => one.type === "PodScheduled");
  const lastTransitionTime = before?.status === "True" ? before.lastTransitionTime : now;
  const scheduled = { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime };
  const others =
    before === undefined ? [...conditions, scheduled] : conditions.map((one) => (one === before ? scheduled : one));
  return { ...status, conditions: others };
}
