import { NodeInfo, type PodInfo, podInfo } from "../../../src/cluster/scheduler/node-info.js";
import type { SchedulableNode, SchedulablePod } from "../../../src/cluster/scheduler/objects.js";

type NodeSpec = NonNullable<SchedulableNode["spec"]>;
type PodSpec = NonNullable<SchedulablePod["spec"]>;

const ALLOCATABLE = { cpu: "2", memory: "4Gi", "ephemeral-storage": "10Gi", pods: "110" };

export interface NodeOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: NodeSpec;
  readonly allocatable?: Readonly<Record<string, string>>;
}

export function makeNode(name: string, options: NodeOptions = {}): SchedulableNode {
  const { labels = {}, spec = {}, allocatable = ALLOCATABLE } = options;
  const conditions = [{ type: "Ready", status: "True" as const, reason: "KubeletReady", message: "" }];
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } },
    spec,
    status: { allocatable, capacity: allocatable, conditions },
  };
}

export function makePod(name: string, spec: Partial<PodSpec> = {}, more: Partial<SchedulablePod> = {}): SchedulablePod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ...more.metadata },
    spec: { containers: [{ name: "app" }], ...spec },
    ...(more.status === undefined ? {} : { status: more.status }),
  };
}

/** One container with these requests. */
export function requesting(requests: Readonly<Record<string, string>>): Partial<PodSpec> {
  return { containers: [{ name: "app", resources: { requests } }] };
}

let uids = 0;

export function infoOf(pod: SchedulablePod, sidecars = false): PodInfo {
  uids++;
  const uid = pod.metadata.uid ?? `uid-${uids}`;
  return podInfo({ ...pod, metadata: { ...pod.metadata, uid } }, { sidecars });
}

/** A node in the cache, with pods. */
export function nodeInfo(node: SchedulableNode, ...pods: readonly SchedulablePod[]): NodeInfo {
  const info = new NodeInfo(node.metadata.name ?? "");
  info.setNode(node);
  for (const pod of pods) info.addPod(infoOf(pod));
  return info;
}
