import type { NodeCondition, NodeObject, NodeStatus, Taint } from "../../staging/apimachinery/api/node.js";
import { withCondition } from "../../staging/apimachinery/api/pod.js";
import { isExtendedResource } from "../../staging/apimachinery/corev1/resource-names.js";
import { rfc3339 } from "../../staging/apimachinery/time.js";
import type { MachineFacts } from "./machine.js";
import { allocatable, HUGE_PAGES, type NodeResources, type Reservations, resourceList } from "./resources.js";

/** What decides a node's status apart from the machine: whether its runtime and network work. */
export interface NodeHealth {
  /** the pressures that the eviction manager reports: `MemoryPressure`; default: none */
  readonly pressures?: readonly string[];
  /** why the node is not ready; empty if it is */
  readonly problems: readonly string[];
}

/** What a kubelet with a runtime and a server reports in addition to the machine. */
export interface KubeletFacts {
  /** `containerd://1.6.20` */
  readonly containerRuntimeVersion: string;
  /** of its server */
  readonly kubeletPort: number;
  /** largest first */
  readonly images: readonly NodeImage[];
  /** of device plugins; default: none */
  readonly devices?: DeviceCapacity;
}

/** What the node's status says about devices, as quantities by resource. Mirrors the results of GetCapacity of the device manager. */
export interface DeviceCapacity {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

/** Mirrors v1.ContainerImage. */
export interface NodeImage {
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** For a node without a runtime and a server, as `kubelab bootstrap` creates it. kubectl shows its runtime as <unknown>. */
const NO_KUBELET: KubeletFacts = { containerRuntimeVersion: "", kubeletPort: 0, images: [] };

export interface StatusInputs {
  readonly nodeName: string;
  readonly resources: NodeResources;
  readonly reservations: Reservations;
  readonly machine: MachineFacts;
  /** `v1.25.0` */
  readonly kubeletVersion: string;
  readonly health: NodeHealth;
  /** default: NO_KUBELET */
  readonly kubelet?: KubeletFacts;
  /** Unix ms */
  readonly nowMs: number;
}

/** The message of a new kubelet before its first check of the runtime. */
export const RUNTIME_NOT_CHECKED = "container runtime status check may not have completed yet";

/** What the kubelet's flags add to a node that it registers. */
export interface RegistrationFlags {
  readonly providerId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
}

/**
 * The Node that a kubelet registers.
 *
 * Mirrors pkg/kubelet/kubelet_node_status.go (initialNode).
 */
export function initialNode(
  inputs: StatusInputs,
  { labels, taints = [], providerId = "" }: RegistrationFlags = {},
): NodeObject {
  const { nodeName, machine } = inputs;
  const defaultLabels = {
    "beta.kubernetes.io/arch": machine.architecture,
    "beta.kubernetes.io/os": machine.operatingSystem,
    "kubernetes.io/arch": machine.architecture,
    "kubernetes.io/hostname": nodeName,
    "kubernetes.io/os": machine.operatingSystem,
  };
  const node: NodeObject = {
    kind: "Node",
    apiVersion: "v1",
    metadata: {
      name: nodeName,
      // As upstream, the flag wins over a default label.
      labels: { ...defaultLabels, ...labels },
      annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
    },
    spec: {
      ...(providerId === "" ? {} : { providerID: providerId }),
      ...(taints.length === 0 ? {} : { taints }),
    },
  };
  return { ...node, status: setNodeStatus({}, inputs) };
}

/**
 * The current status as the kubelet sees it, merged into the one that the API server has. Conditions of others stay.
 *
 * Mirrors pkg/kubelet/kubelet_node_status.go (defaultNodeStatusFuncs) and pkg/kubelet/nodestatus/setters.go, in their
 * order.
 */
export function setNodeStatus(before: NodeStatus, inputs: StatusInputs): NodeStatus {
  const { nodeName, machine, kubeletVersion, resources, kubelet = NO_KUBELET } = inputs;
  let conditions = before.conditions ?? [];
  for (const condition of ownConditions(inputs)) conditions = setCondition(conditions, condition, inputs.nowMs);
  const capacity: Readonly<Record<string, string>> = {
    ...before.capacity,
    ...HUGE_PAGES,
    ...resourceList(resources),
    ...kubelet.devices?.capacity,
  };
  const isOffered = ([name]: readonly [string, string]) => capacity[name] !== undefined || !isExtendedResource(name);
  return {
    ...before,
    capacity,
    allocatable: {
      ...Object.fromEntries(Object.entries(before.allocatable ?? {}).filter(isOffered)),
      // Also what an administrator has added: extended resources of the node.
      ...capacity,
      ...resourceList(allocatable(resources, inputs.reservations)),
      ...kubelet.devices?.allocatable,
    },
    conditions,
    addresses: [...machine.addresses, { type: "Hostname", address: nodeName }],
    daemonEndpoints: { kubeletEndpoint: { Port: kubelet.kubeletPort } },
    nodeInfo: {
      machineID: machine.machineId,
      systemUUID: machine.machineId,
      bootID: machine.bootId,
      kernelVersion: machine.kernelVersion,
      osImage: machine.osImage,
      containerRuntimeVersion: kubelet.containerRuntimeVersion,
      kubeletVersion,
      kubeProxyVersion: kubeletVersion,
      operatingSystem: machine.operatingSystem,
      architecture: machine.architecture,
    },
    ...(kubelet.images.length === 0 ? {} : { images: kubelet.images }),
  };
}

type OwnCondition = Pick<NodeCondition, "type" | "status"> & { readonly reason: string; readonly message: string };

/** A pressure's reason and message, without it and with it. */
const PRESSURES = [
  {
    type: "MemoryPressure",
    absent: ["KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
    present: ["KubeletHasInsufficientMemory", "kubelet has insufficient memory available"],
  },
  {
    type: "DiskPressure",
    absent: ["KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
    present: ["KubeletHasDiskPressure", "kubelet has disk pressure"],
  },
  {
    type: "PIDPressure",
    absent: ["KubeletHasSufficientPID", "kubelet has sufficient PID available"],
    present: ["KubeletHasInsufficientPID", "kubelet has insufficient PID available"],
  },
] as const;

/** MemoryPressure, DiskPressure, PIDPressure, Ready: setters.go has them in this order. */
function ownConditions({ health }: StatusInputs): OwnCondition[] {
  const pressures = PRESSURES.map(({ type, absent, present }): OwnCondition => {
    const isPresent = health.pressures?.includes(type) === true;
    const [reason, message] = isPresent ? present : absent;
    return { type, status: isPresent ? "True" : "False", reason, message };
  });
  return [...pressures, readyCondition(health)];
}

/** The reason of the node's event for a condition that has changed: `NodeHasDiskPressure`, `NodeReady`. Mirrors setters.go. */
export function eventOfCondition({
  type,
  status,
  reason = "",
}: Pick<NodeCondition, "type" | "status" | "reason">): string {
  if (type === "Ready") return status === "True" ? "NodeReady" : "NodeNotReady";
  return reason.replace(/^Kubelet/, "Node");
}

/** Mirrors setters.go (ReadyCondition); several problems are an aggregate error: in brackets. */
function readyCondition({ problems }: NodeHealth): OwnCondition {
  if (problems.length === 0) {
    return { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" };
  }
  const message = problems.length === 1 ? (problems[0] ?? "") : `[${problems.join(", ")}]`;
  return { type: "Ready", status: "False", reason: "KubeletNotReady", message };
}

/** The heartbeat time always changes, the transition time only with the status. */
function setCondition(conditions: readonly NodeCondition[], now: OwnCondition, nowMs: number): NodeCondition[] {
  const time = rfc3339(nowMs);
  const { type, status, reason, message } = now;
  const condition = { type, status, lastHeartbeatTime: time, lastTransitionTime: time, reason, message };
  return withCondition<NodeCondition>(conditions, condition, time);
}
