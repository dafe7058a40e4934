import type { V1Pod, V1Toleration } from "../../apimachinery/api/pod.js";
import { isAtLeast } from "../../release/facts.js";
import type { NodeObject, Taint } from "../nodestatus/node.js";
import { isStaticPod } from "../types/pod-update.js";
import type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from "./admit.js";
import { matchesRequiredNodeAffinity } from "./node-affinity.js";
import { type Amounts, addTo, amountsOf, hostPortsOf, podRequests, portsConflict } from "./node-info.js";
import type { CriticalPodAdmissionHandler } from "./preemption.js";

/** Why a pod does not fit. Mirrors InsufficientResourceError and PredicateFailureError. */
export type PredicateFailureReason =
  | {
      readonly kind: "resource";
      /** cpu in thousandths, everything else in whole units */
      readonly resource: string;
      readonly requested: number;
      readonly used: number;
      readonly capacity: number;
    }
  | { readonly kind: "predicate"; readonly name: string; readonly description: string };

/** Every pod is held against these, whether it asks for them or not. */
const ALWAYS = ["cpu", "memory", "ephemeral-storage"];
const OS_LABEL = "kubernetes.io/os";

export interface PredicateAdmitDeps {
  /**
   * The node as the kubelet knows it: what it last read, or what it would register. Mirrors getNodeAnyWay.
   * @throws when nothing is known of it
   */
  readonly getNode: () => Promise<NodeObject> | NodeObject;
  /** makes room for critical pods; default: nobody does, and they are refused as any other */
  readonly admissionFailureHandler?: Pick<CriticalPodAdmissionHandler, "handleAdmissionFailure">;
}

export interface PredicateAdmitOptions {
  /** Go's name of the operating system of the node: `linux` */
  readonly os: string;
  readonly kubeVersion: string;
}

/**
 * Checks once more, on the node itself, what the scheduler has checked: others may have come in between, and static pods
 * never met a scheduler.
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
      // The reason is upstream's text, whatever went wrong; who reads the node reports it.
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
    const reasons = generalFilter(pod, otherPods, node);
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
}

/** Only the first reason is told. */
function resultOf(reason: PredicateFailureReason, kubeVersion: string): PodAdmitResult {
  if (reason.kind === "resource") {
    const { resource, requested, used, capacity } = reason;
    const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
    return refuse(`OutOf${resource}`, `Node didn't have enough resource: ${resource}, ${amounts}`);
  }
  const { name, description } = reason;
  // The description was added later.
  const tellsMore = isAtLeast(kubeVersion, "1.32");
  return refuse(name, `Predicate ${name} failed${tellsMore ? `: ${description}` : ""}`);
}

function refuse(reason: string, message: string): PodAdmitResult {
  return { admit: false, reason, message };
}

/**
 * All reasons why the pod cannot be on this node beside the others, in upstream's order. Pure.
 * Mirrors generalFilter, AdmissionCheck in pkg/scheduler/eventhandlers.go.
 */
function generalFilter(pod: V1Pod, otherPods: readonly V1Pod[], node: NodeObject): PredicateFailureReason[] {
  const reasons = insufficientResources(pod, otherPods, node);
  const fail = (name: string, description: string) => reasons.push({ kind: "predicate", name, description });
  if (!matchesRequiredNodeAffinity(pod, node)) {
    fail("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  }
  const { nodeName = "" } = pod.spec;
  if (nodeName !== "" && nodeName !== node.metadata.name) {
    fail("NodeName", "node(s) didn't match the requested node name");
  }
  const taken = otherPods.flatMap(hostPortsOf);
  if (hostPortsOf(pod).some((port) => taken.some((other) => portsConflict(port, other)))) {
    fail("NodePorts", "node(s) didn't have free ports for the requested pod ports");
  }
  if (!isStaticPod(pod) && hasUntoleratedNoExecuteTaint(pod, node.spec?.taints ?? [])) {
    fail("TaintToleration", "node(s) had taints that the pod didn't tolerate");
  }
  return reasons;
}

/** Mirrors fitsRequest in pkg/scheduler/framework/plugins/noderesources/fit.go. */
function insufficientResources(pod: V1Pod, otherPods: readonly V1Pod[], node: NodeObject): PredicateFailureReason[] {
  const allocatable = amountsOf(node.status?.allocatable ?? {});
  const reasons: PredicateFailureReason[] = [];
  const lack = (resource: string, requested: number, used: number, capacity: number) =>
    reasons.push({ kind: "resource", resource, requested, used, capacity });
  const maxPods = allocatable.get("pods") ?? 0;
  if (otherPods.length + 1 > maxPods) lack("pods", 1, otherPods.length, maxPods);
  const requests = podRequests(pod);
  if (![...requests.values()].some((amount) => amount > 0)) return reasons;
  const used = new Map<string, number>();
  for (const other of otherPods) addTo(used, podRequests(other));
  for (const resource of resourcesToCheck(requests, allocatable)) {
    const requested = requests.get(resource) ?? 0;
    const inUse = used.get(resource) ?? 0;
    // A node that does not say how much of its disk pods may use does not limit them.
    const capacity = allocatable.get(resource) ?? (resource === "ephemeral-storage" ? Number.POSITIVE_INFINITY : 0);
    if (requested > 0 && requested > capacity - inUse) lack(resource, requested, inUse, capacity);
  }
  return reasons;
}

/**
 * An extended resource that the node does not know is the cluster's affair, not the node's. Mirrors
 * removeMissingExtendedResources.
 */
function resourcesToCheck(requests: Amounts, allocatable: Amounts): ReadonlySet<string> {
  const others = [...requests.keys()].filter((name) => !name.includes("/") || allocatable.has(name));
  return new Set([...ALWAYS, ...others]);
}

function hasUntoleratedNoExecuteTaint({ spec }: V1Pod, taints: readonly Taint[]): boolean {
  const tolerations = spec.tolerations ?? [];
  return taints.some((taint) => taint.effect === "NoExecute" && !tolerations.some((one) => tolerates(one, taint)));
}

/** Mirrors ToleratesTaint in k8s.io/api/core/v1/toleration.go. */
function tolerates({ effect = "", key = "", operator, value = "" }: V1Toleration, taint: Taint): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  return operator === "Exists" || value === (taint.value ?? "");
}
