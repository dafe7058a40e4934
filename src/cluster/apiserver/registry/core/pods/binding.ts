import type { V1Binding, V1Pod } from "@kubernetes/client-node";
import type { KubeObject, Status } from "../../../../../staging/apimachinery/api/meta.js";
import { type V1PodStatus, withCondition } from "../../../../../staging/apimachinery/api/pod.js";
import { badRequest, conflict, internalError } from "../../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import type { Clock } from "../../../../../util/clock.js";
import type { ActionHandler, ActionRequest } from "../../rest/action.js";
import { timestamp } from "../../rest/object-meta.js";
import { BINDING } from "../../rest/stages.js";
import { gateNames } from "./scheduling-gates.js";

type Binding = Wire<V1Binding>;

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
export function bindingHandler(clock: Clock): ActionHandler {
  return async (request) => {
    const { context, registry, namespace, body } = request;
    const name = bindingName(request);
    const problem = targetProblem(body as Binding | undefined);
    // Upstream returns a plain error here instead of a Status, hence 500.
    if (problem !== undefined) throw internalError(problem);
    const nodeName = (body as Binding | undefined)?.target.name ?? "";
    const binds = `assign ${namespace ?? ""}/${name} to node ${nodeName}: the pod changes, the Binding is not stored`;
    const upstream = { file: "pkg/registry/core/pod/storage/storage.go", func: BINDING };
    context.report?.({ what: binds, why: "", upstream, isName: true });
    const annotations = body?.metadata.annotations;
    await registry.store("pods").update(context, namespace, name, "binding", (pod) => {
      if (pod === undefined) throw internalError(`pod ${name} is gone`);
      const why = assignmentProblem(pod as Wire<V1Pod>);
      if (why !== undefined) throw conflict({ group: "", resource: "pods/binding" }, name, why);
      return assignPod(pod as Wire<V1Pod>, nodeName, annotations, timestamp(clock.now()));
    });
    return CREATED;
  };
}

function bindingName({ name, body }: ActionRequest): string {
  const bound = body?.metadata.name ?? "";
  if (name !== undefined && bound !== "" && bound !== name) {
    throw badRequest("name in URL does not match name in Binding object");
  }
  return name ?? bound;
}

/** Mirrors ValidatePodBinding in pkg/apis/core/validation/validation.go. */
function targetProblem(binding: Binding | undefined): string | undefined {
  const { kind = "", name = "" } = binding?.target ?? {};
  const problems: string[] = [];
  if (kind !== "" && kind !== "Node") {
    problems.push(`target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`);
  }
  if (name === "") problems.push("target.name: Required value");
  if (problems.length <= 1) return problems[0];
  return `[${problems.join(", ")}]`;
}

function assignmentProblem(pod: Wire<V1Pod>): string | undefined {
  const { nodeName = "" } = pod.spec ?? {};
  const { name = "" } = pod.metadata;
  if (pod.metadata.deletionTimestamp !== undefined) return `pod ${name} is being deleted, cannot be assigned to a host`;
  if (gateNames(pod.spec ?? {}).length > 0) return `pod ${name} has non-empty .spec.schedulingGates`;
  return nodeName === "" ? undefined : `pod ${name} is already assigned to node ${JSON.stringify(nodeName)}`;
}

/** Mirrors setPodHostAndAnnotations. */
function assignPod(
  pod: Wire<V1Pod>,
  nodeName: string,
  annotations: KubeObject["metadata"]["annotations"],
  now: string,
): KubeObject {
  const { metadata } = pod;
  return {
    ...pod,
    metadata:
      annotations === undefined ? metadata : { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    spec: { ...pod.spec, nodeName },
    status: withScheduled(pod.status ?? {}, now),
  };
}

function withScheduled(status: V1PodStatus, now: string): V1PodStatus {
  const scheduled = { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: now };
  return { ...status, conditions: withCondition(status.conditions, scheduled, now) };
}
