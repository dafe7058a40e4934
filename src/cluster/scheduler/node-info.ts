import { keyOf } from "../../staging/apimachinery/api/object-key.js";
import { isTerminating } from "../../staging/apimachinery/api/objects.js";
import { containersOf } from "../../staging/apimachinery/api/pod.js";
import { type HostPort, HostPortInfo, hostPortsOf } from "../../staging/apimachinery/corev1/host-ports.js";
import {
  addTo,
  nonZeroRequests,
  podRequests,
  type Resource,
  resourceFrom,
} from "../../staging/apimachinery/corev1/pod-requests.js";
import { type AffinityTerms, affinityTermsOf } from "./affinity-terms.js";
import { nodeNameOf, type SchedulableNode, type SchedulablePod, uidOf } from "./objects.js";

/** A pod with the values that the scheduler compares with each node, computed once. */
export interface PodInfo {
  readonly pod: SchedulablePod;
  /** `namespace/name` */
  readonly key: string;
  readonly uid: string;
  readonly hostPorts: readonly HostPort[];
  /** decides whether the pod fits */
  readonly requests: Resource;
  /** with a minimum for cpu and memory: scores nodes */
  readonly nonZero: Resource;
  /** equal for pods of one namespace with the same labels; undefined for a pod that is being deleted */
  readonly labelsKey: string | undefined;
  /** undefined for a pod without inter-pod affinity */
  readonly affinity: AffinityTerms | undefined;
}

const NO_RESOURCES: Resource = new Map();
const NO_LABELS: ReadonlyMap<string, string> = new Map();
const NO_IMAGES: ReadonlyMap<string, number> = new Map();

export interface PodInfoOptions {
  /** init containers with restartPolicy Always keep running */
  readonly sidecars: boolean;
}

export function podInfo(pod: SchedulablePod, options: PodInfoOptions): PodInfo {
  const requests = podRequests(pod.spec, options);
  const nonZero = nonZeroRequests(pod.spec, options);
  const hostPorts = hostPortsOf(containersOf(pod));
  const [labelsKey, affinity] = [labelsKeyOf(pod), affinityTermsOf(pod)];
  return { pod, key: keyOf(pod), uid: uidOf(pod), hostPorts, requests, nonZero, labelsKey, affinity };
}

/** The same pod with another status or other metadata: the values computed from its spec stay. */
export function withPod(info: PodInfo, pod: SchedulablePod): PodInfo {
  return { ...info, pod, labelsKey: labelsKeyOf(pod) };
}

function labelsKeyOf(pod: SchedulablePod): string | undefined {
  const { namespace, labels } = pod.metadata;
  return isTerminating(pod) ? undefined : `${namespace} ${JSON.stringify(labels)}`;
}

/** The pods of a node that have the same namespace and the same labels, and that stay. */
export interface LabelGroup {
  readonly namespace: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  count: number;
}

/**
 * A node and the sums over its pods, updated by additions and removals, so that a filter does not iterate over the
 * pods.
 *
 * Mirrors NodeInfo in pkg/scheduler/framework/types.go.
 */
export class NodeInfo {
  /** undefined: pods are bound to it, but the node does not exist (yet, or any more) */
  node: SchedulableNode | undefined;
  allocatable: Resource = NO_RESOURCES;
  /** of the node: each is looked up for every pod */
  labels: ReadonlyMap<string, string> = NO_LABELS;
  readonly requested = new Map<string, number>();
  readonly nonZeroRequested = new Map<string, number>();
  readonly pods = new Map<string, PodInfo>();
  /** the pods with inter-pod affinity or anti-affinity */
  readonly podsWithAffinity = new Map<string, PodInfo>();
  /** labelsKey -> those of `pods`, for selectors: a workload's pods are checked once */
  readonly labelGroups = new Map<string, LabelGroup>();
  readonly usedPorts = new HostPortInfo();
  /** image name -> bytes */
  imageSizes: ReadonlyMap<string, number> = NO_IMAGES;

  constructor(readonly name: string) {}

  setNode(node: SchedulableNode | undefined): void {
    this.node = node;
    this.allocatable = node === undefined ? NO_RESOURCES : resourceFrom(node.status?.allocatable);
    this.labels = node === undefined ? NO_LABELS : new Map(Object.entries(node.metadata.labels ?? {}));
    this.imageSizes = imageSizesOf(node);
  }

  addPod(info: PodInfo): void {
    if (this.pods.has(info.key)) this.removePod(info.key);
    this.pods.set(info.key, info);
    if (info.affinity !== undefined) this.podsWithAffinity.set(info.key, info);
    this.#count(info, 1);
  }

  removePod(key: string): void {
    const info = this.pods.get(key);
    if (info === undefined) return;
    this.pods.delete(key);
    this.podsWithAffinity.delete(key);
    this.#count(info, -1);
  }

  #count(info: PodInfo, sign: 1 | -1): void {
    addTo(this.requested, info.requests, sign);
    addTo(this.nonZeroRequested, info.nonZero, sign);
    for (const port of info.hostPorts) this.usedPorts.add(port, sign);
    const { labelsKey } = info;
    if (labelsKey === undefined) return;
    const { namespace, labels } = info.pod.metadata;
    const group = this.labelGroups.get(labelsKey) ?? { namespace, labels, count: 0 };
    group.count += sign;
    if (group.count === 0) this.labelGroups.delete(labelsKey);
    else this.labelGroups.set(labelsKey, group);
  }

  get podCount(): number {
    return this.pods.size;
  }

  /** A copy for trial changes. */
  clone(): NodeInfo {
    const copy = new NodeInfo(this.name);
    copy.node = this.node;
    copy.allocatable = this.allocatable;
    copy.labels = this.labels;
    copy.imageSizes = this.imageSizes;
    for (const info of this.pods.values()) copy.addPod(info);
    return copy;
  }
}

function imageSizesOf(node: SchedulableNode | undefined): ReadonlyMap<string, number> {
  const images = node?.status?.images;
  if (images === undefined || images.length === 0) return NO_IMAGES;
  return new Map(
    images.flatMap(({ names, sizeBytes }) => (names ?? []).map((name) => [name, sizeBytes ?? 0] as const)),
  );
}

/** The pod as it is after binding. The cache holds it until the watch delivers the bound pod. */
export function assumedOn(info: PodInfo, nodeName: string): PodInfo {
  if (nodeNameOf(info.pod) === nodeName) return info;
  return { ...info, pod: { ...info.pod, spec: { containers: [], ...info.pod.spec, nodeName } } };
}
