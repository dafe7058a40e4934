import type { KubeletConfiguration } from "../../kubelet/apis/config/defaults.js";
import type { MachineFacts } from "../../kubelet/nodestatus/machine.js";
import { initialNode, type StatusInputs, setNodeStatus } from "../../kubelet/nodestatus/setters.js";
import type { NodeObject, NodeStatus } from "../../staging/apimachinery/api/node.js";
import { addressText } from "../../util/net/ipv4.js";
import { DEFAULT_RESOURCES } from "../node/join-plan.js";

/** The label of nodes without containers. */
export const SIMULATED_LABEL = "kubelab/simulated";

export interface SimulatedNodeOptions {
  readonly name: string;
  /** counted from 0: decides its addresses */
  readonly index: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly kubeVersion: string;
  /** of all of them */
  readonly config: KubeletConfiguration;
  /** the machine that they all report */
  readonly machine: MachineFacts;
}

/** The first address of a /24 for each node's pods, in 10.128.0.0/11: outside of the ranges of other nodes and of Services. */
const FIRST_POD_RANGE = 10 * 2 ** 24 + 128 * 2 ** 16;
/** The nodes' own addresses, in 10.192.0.0/16. Nothing listens there. */
const FIRST_ADDRESS = 10 * 2 ** 24 + 192 * 2 ** 16 + 1;
/** The first addresses of a range are the network's and its gateway's, the last is for broadcasts. */
const [FIRST_POD, LAST_POD] = [2, 254];

/** The status that a healthy kubelet would report for its node, and the addresses of its pods. The node has no kubelet and no runtime. */
export class SimulatedNode {
  readonly name: string;
  readonly address: string;
  readonly #firstPodAddress: number;
  readonly #podIps = new Map<string, string>();
  readonly #machine: MachineFacts;

  constructor(readonly options: SimulatedNodeOptions) {
    const { name, index, machine } = options;
    this.name = name;
    this.address = addressText(FIRST_ADDRESS + index);
    this.#firstPodAddress = FIRST_POD_RANGE + index * 256;
    this.#machine = { ...machine, machineId: name, addresses: [{ type: "InternalIP", address: this.address }] };
  }

  /** The Node that it registers. It already has a range of pod addresses, because the cluster's is too small for thousands of nodes. */
  initialNode(nowMs: number): NodeObject {
    const labels = { ...this.options.labels, [SIMULATED_LABEL]: "true" };
    const node = initialNode(this.#inputs(nowMs), { labels });
    const podCIDR = `${addressText(this.#firstPodAddress)}/24`;
    return { ...node, spec: { ...node.spec, podCIDR, podCIDRs: [podCIDR] } };
  }

  /** The status that it reports now. @param before the API server's current one */
  status(before: NodeStatus, nowMs: number): NodeStatus {
    return setNodeStatus(before, this.#inputs(nowMs));
  }

  /** The address of a pod, which may be new. @param known the address in its status */
  podIp(podUid: string, known?: string): string {
    const ip = this.#podIps.get(podUid) ?? known ?? this.#freeIp();
    this.#podIps.set(podUid, ip);
    return ip;
  }

  release(podUid: string): void {
    this.#podIps.delete(podUid);
  }

  #freeIp(): string {
    const taken = new Set(this.#podIps.values());
    for (let last = FIRST_POD; last <= LAST_POD; last++) {
      const ip = addressText(this.#firstPodAddress + last);
      if (!taken.has(ip)) return ip;
    }
    // An ended pod releases its address before it is deleted.
    return addressText(this.#firstPodAddress + LAST_POD);
  }

  #inputs(nowMs: number): StatusInputs {
    const { name: nodeName, config, kubeVersion } = this.options;
    return {
      nodeName,
      resources: DEFAULT_RESOURCES,
      reservations: config,
      machine: this.#machine,
      kubeletVersion: `v${kubeVersion}.0`,
      kubelet: { containerRuntimeVersion: "simulated://", kubeletPort: 10250, images: [] },
      health: { problems: [] },
      nowMs,
    };
  }
}
