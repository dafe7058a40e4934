import type { NodeObject } from "../../staging/apimachinery/api/node.js";
import { containersOf, sidecarsOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { type InsufficientResource, insufficientResources } from "../../staging/apimachinery/corev1/fit.js";
import { type HostPort, HostPortInfo, hostPortsOf } from "../../staging/apimachinery/corev1/host-ports.js";
import { matchesRequiredNodeAffinity, type NodeChoice } from "../../staging/apimachinery/corev1/node-affinity.js";
import { addTo, podRequests, type Resource, resourceFrom } from "../../staging/apimachinery/corev1/pod-requests.js";
import { findUntoleratedTaint } from "../../staging/apimachinery/corev1/tolerations.js";
import type { ResourceList } from "../../staging/apimachinery/quantity.js";
import { isAtLeast } from "../../util/release/facts.js";
import { isStaticPod } from "../types/pod-update.js";
import type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from "./admit.js";

/** Why a pod does not fit. Mirrors InsufficientResourceError and PredicateFailureError. */
export type PredicateFailureReason =
  | ({ readonly kind: "resource" } & InsufficientResource)
  | { readonly kind: "predicate"; readonly name: string; readonly description: string };

/** The outcome for a pod that did not fit. */
export type PreemptionResult =
  | {
      readonly outcome: "reasons" /** empty: the pod is admitted */;
      readonly reasons: readonly PredicateFailureReason[];
    }
  | { readonly outcome: "failed"; readonly message: string };

/** Makes room for a pod that did not fit. Mirrors AdmissionFailureHandler. */
export interface AdmissionFailureHandler {
  /** @param pods the other pods on this node */
  handleAdmissionFailure(
    admitPod: V1Pod,
    pods: readonly V1Pod[],
    reasons: readonly PredicateFailureReason[],
  ): Promise<PreemptionResult>;
}

const WITH_SIDECARS = { sidecars: true } as const;
const NO_EXECUTE = new Set(["NoExecute"]);
const OS_LABEL = "kubernetes.io/os";

export interface PredicateAdmitDeps {
  /**
   * The node as the kubelet knows it: as last read, or as the kubelet would register it. Mirrors getNodeAnyWay.
   * @throws when neither is available
   */
  readonly getNode: () => Promise<NodeObject> | NodeObject;
  /** makes room for critical pods; without it they are refused like other pods */
  readonly admissionFailureHandler?: AdmissionFailureHandler;
  /** raises what the node offers to the devices that its pods have. Mirrors pluginResourceUpdateFunc. */
  readonly updatePluginResources?: (pod: V1Pod, allocatable: Map<string, number>) => void;
}

export interface PredicateAdmitOptions {
  /** Go's name of the operating system of the node: `linux` */
  readonly os: string;
  readonly kubeVersion: string;
}

/**
 * Repeats the scheduler's checks on the node: other pods may have come since, and static pods bypass the scheduler.
 *
 * Mirrors pkg/kubelet/lifecycle/predicate.go (predicateAdmitHandler).
 */
export class PredicateAdmitHandler implements PodAdmitHandler {
  constructor(
    readonly deps: PredicateAdmitDeps,
    readonly options: PredicateAdmitOptions,
  ) {}

  async admit({ pod, otherPods }: PodAdmitAttributes): Promise<PodAdmitResult> {
    const { os, kubeVersion } = this.options;
    let node: NodeObject;
    try {
      node = await this.deps.getNode();
    } catch {
      // The reason is upstream's text for any error; the code that reads the node reports the error itself.
      return refuse("InvalidNodeInfo", "Kubelet cannot get node info.");
    }
    const wantedOs = pod.metadata.labels?.[OS_LABEL];
    if (wantedOs !== undefined && wantedOs !== os) {
      const message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
      return refuse("PodOSSelectorNodeLabelDoesNotMatch", message);
    }
    const osName = (pod.spec["os"] as { readonly name?: unknown } | null | undefined)?.name;
    if (osName !== undefined && osName !== os) {
      return refuse("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS");
    }
    const reasons = generalFilter(pod, otherPods, { node, allocatable: this.#allocatable(pod, node) });
    const { admissionFailureHandler: handler } = this.deps;
    const result =
      reasons.length === 0 || handler === undefined
        ? ({ outcome: "reasons", reasons } as const)
        : await handler.handleAdmissionFailure(pod, otherPods, reasons);
    if (result.outcome === "failed") {
      const message = `Unexpected error while attempting to recover from admission failure: ${result.message}`;
      return refuse("UnexpectedAdmissionError", message);
    }
    const [first] = result.reasons;
    return first === undefined ? { admit: true } : resultOf(first, kubeVersion);
  }

  #allocatable(pod: V1Pod, node: NodeObject): Map<string, number> {
    const allocatable = resourceFrom(node.status?.allocatable as ResourceList);
    // A node that does not report allocatable disk space does not limit it.
    if (!allocatable.has("ephemeral-storage")) allocatable.set("ephemeral-storage", Number.POSITIVE_INFINITY);
    this.deps.updatePluginResources?.(pod, allocatable);
    return allocatable;
  }
}

/** Reports only the first reason. */
function resultOf(reason: PredicateFailureReason, kubeVersion: string): PodAdmitResult {
  if (reason.kind === "resource") {
    const { resource, requested, used, capacity } = reason;
    const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
    return refuse(`OutOf${resource}`, `Node didn't have enough resource: ${resource}, ${amounts}`);
  }
  const { name, description } = reason;
  // Later releases added the description.
  const hasDescription = isAtLeast(kubeVersion, "1.32");
  return refuse(name, `Predicate ${name} failed${hasDescription ? `: ${description}` : ""}`);
}

function refuse(reason: string, message: string): PodAdmitResult {
  return { admit: false, reason, message };
}

/**
 * All reasons why the node cannot run the pod together with the others, in upstream's order. Pure.
 * Mirrors generalFilter, AdmissionCheck in pkg/scheduler/eventhandlers.go.
 */
function generalFilter(
  pod: V1Pod,
  otherPods: readonly V1Pod[],
  { node, allocatable }: { readonly node: NodeObject; readonly allocatable: Resource },
): PredicateFailureReason[] {
  const reasons = lackedResources(pod, otherPods, allocatable);
  const fail = (name: string, description: string) => reasons.push({ kind: "predicate", name, description });
  if (!matchesRequiredNodeAffinity(pod.spec as NodeChoice, node)) {
    fail("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  }
  const { nodeName = "" } = pod.spec;
  if (nodeName !== "" && nodeName !== node.metadata.name) {
    fail("NodeName", "node(s) didn't match the requested node name");
  }
  const used = new HostPortInfo();
  for (const other of otherPods) for (const port of runningHostPorts(other)) used.add(port);
  if (runningHostPorts(pod).some((port) => used.hasConflict(port))) {
    fail("NodePorts", "node(s) didn't have free ports for the requested pod ports");
  }
  const { tolerations = [] } = pod.spec;
  if (!isStaticPod(pod) && findUntoleratedTaint(node.spec?.taints ?? [], tolerations, NO_EXECUTE) !== undefined) {
    fail("TaintToleration", "node(s) had taints that the pod didn't tolerate");
  }
  return reasons;
}

/** The ports of regular containers and sidecars. */
function runningHostPorts(pod: V1Pod): readonly HostPort[] {
  return hostPortsOf([...containersOf(pod), ...sidecarsOf(pod)]);
}

/** Mirrors fitsRequest and removeMissingExtendedResources. */
function lackedResources(pod: V1Pod, otherPods: readonly V1Pod[], allocatable: Resource): PredicateFailureReason[] {
  const requests = podRequests(pod.spec, WITH_SIDECARS);
  // Extended resources that the node does not know are the cluster's to account for.
  for (const name of requests.keys()) if (name.includes("/") && !allocatable.has(name)) requests.delete(name);
  const requested = new Map<string, number>();
  for (const other of otherPods) addTo(requested, podRequests(other.spec, WITH_SIDECARS));
  return insufficientResources(requests, { allocatable, requested, podCount: otherPods.length })
    .filter((one) => one.requested > 0)
    .map((one) => ({ kind: "resource", ...one }));
}
