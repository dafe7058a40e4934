import type { NodeObject } from "../../apimachinery/api/node.js";
import type { KubeClient } from "../../client-go/rest/client.js";
import { collectionPath, NODES } from "../../client-go/rest/paths.js";
import type { KubeletConfiguration } from "../../kubelet/apis/config/defaults.js";
import { LeaseController } from "../../kubelet/nodelease/controller.js";
import { NodeStatusHeartbeat } from "../../kubelet/nodestatus/heartbeat.js";
import { readMachineFacts } from "../../kubelet/nodestatus/machine.js";
import { initialNode, type StatusInputs, setNodeStatus } from "../../kubelet/nodestatus/setters.js";
import { factFor } from "../../release/facts.js";
import type { Ctx } from "../../trace/ctx.js";
import { createUnlessThere } from "../create-unless-there.js";
import { DEFAULT_RESOURCES } from "../join-plan.js";

/** The label of nodes without containers. */
const SIMULATED_LABEL = "kubelab/simulated";

export interface SimulatedNodeOptions {
  readonly name: string;
  /** counted from 0: decides its addresses */
  readonly index: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly kubeVersion: string;
  /** of all of them */
  readonly config: KubeletConfiguration;
}

/** The first address of a /24 for each node's pods, in 10.128.0.0/11: outside of the ranges of other nodes and of Services. */
const FIRST_POD_RANGE = 10 * 2 ** 24 + 128 * 2 ** 16;
/** The nodes' own addresses, in 10.192.0.0/16. Nothing listens there. */
const FIRST_ADDRESS = 10 * 2 ** 24 + 192 * 2 ** 16 + 1;
/** The first addresses of a range are the network's and its gateway's, the last is for broadcasts. */
const [FIRST_POD, LAST_POD] = [2, 254];

/** A Node object with a Lease and a status that stay fresh, and addresses for its pods. It has no kubelet and no runtime. */
export class SimulatedNode {
  readonly address: string;
  readonly #firstPodAddress: number;
  readonly #podIps = new Map<string, string>();
  readonly #lease: LeaseController;

  constructor(
    readonly deps: Ctx & { readonly client: KubeClient },
    readonly options: SimulatedNodeOptions,
  ) {
    const { name: nodeName, index, kubeVersion } = options;
    this.address = dotted(FIRST_ADDRESS + index);
    this.#firstPodAddress = FIRST_POD_RANGE + index * 256;
    this.#lease = new LeaseController(deps, { nodeName, kubeVersion, jitter: true });
  }

  /** Creates the Node and its Lease. A Node of an earlier process continues. @throws LabError FORBIDDEN, REFUSED */
  async register(signal: AbortSignal): Promise<void> {
    const { client, clock } = this.deps;
    const labels = { ...this.options.labels, [SIMULATED_LABEL]: "true" };
    const node = initialNode(this.#inputs(clock.now()), { labels });
    const podCIDR = `${dotted(this.#firstPodAddress)}/24`;
    const body: NodeObject = { ...node, spec: { ...node.spec, podCIDR, podCIDRs: [podCIDR] } };
    await createUnlessThere(client, collectionPath(NODES), body, signal);
    await this.#lease.sync(signal);
  }

  /** Keeps the Lease and the status fresh, at other moments than other nodes. @throws the signal's reason */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#renew(signal), this.#report(signal)]);
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.deps;
    await clock.sleep(random.float() * this.#lease.nextSleepMs(), signal);
    for await (const _ of this.#lease.run(signal));
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.deps;
    const { name: nodeName, kubeVersion } = this.options;
    // Nothing else changes, so the status is checked only when a report is due.
    const periodMs = factFor("nodeStatusReportFrequency", kubeVersion);
    const heartbeat = new NodeStatusHeartbeat(this.deps, {
      nodeName,
      kubeVersion,
      updateFrequencyMs: periodMs,
      setStatus: (before, nowMs) => setNodeStatus(before, this.#inputs(nowMs)),
    });
    await clock.sleep(random.float() * periodMs, signal);
    await heartbeat.update(signal);
    await heartbeat.run(signal);
  }

  /** The address that a pod has, or gets. @param known the one that its status has already */
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
      const ip = dotted(this.#firstPodAddress + last);
      if (!taken.has(ip)) return ip;
    }
    // Ended pods that were not deleted have given their addresses to others.
    return dotted(this.#firstPodAddress + LAST_POD);
  }

  #inputs(nowMs: number): StatusInputs {
    const { name: nodeName, config, kubeVersion } = this.options;
    return {
      nodeName,
      resources: DEFAULT_RESOURCES,
      reservations: config,
      machine: readMachineFacts(nodeName, [{ type: "InternalIP", address: this.address }]),
      kubeletVersion: `v${kubeVersion}.0`,
      kubelet: { containerRuntimeVersion: "simulated://", kubeletPort: 10250, images: [] },
      health: { problems: [] },
      nowMs,
    };
  }
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((bits) => (address >>> bits) & 255).join(".");
}
