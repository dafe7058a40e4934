import type { NodeObject } from "../../../staging/apimachinery/api/node.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import { concurrently } from "../../../staging/apimachinery/wait.js";
import { forEachChange } from "../../../staging/client-go/informers/for-each-change.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { factFor } from "../../../util/release/facts.js";
import type { Controller } from "../controller.js";
import { asController, retryReporter, type SharedDeps } from "../support/shared-deps.js";

const NAME = "nodeipam";
const FILE = "pkg/controller/nodeipam/ipam/range_allocator.go";

/**
 * Allocates subranges of the cluster's IPv4 range in order. A released one is reused only after all others. Mirrors
 * pkg/controller/nodeipam/ipam/cidrset/cidr_set.go (AllocateNext).
 */
export class CidrSet {
  readonly #base: number;
  readonly #maskBits: number;
  readonly #count: number;
  readonly #used = new Set<number>();
  #next = 0;

  /** @param clusterCidr `10.244.0.0/16` @param maskBits prefix length of each node's range */
  constructor(clusterCidr: string, maskBits: number) {
    const [address = "", bits = "0"] = clusterCidr.split("/");
    this.#base = addressNumber(address);
    this.#maskBits = maskBits;
    this.#count = 2 ** (maskBits - Number(bits));
  }

  /** @returns undefined if all are allocated */
  allocate(): string | undefined {
    for (let i = 0; i < this.#count; i++) {
      const index = (this.#next + i) % this.#count;
      if (this.#used.has(index)) continue;
      this.#used.add(index);
      this.#next = (index + 1) % this.#count;
      return this.#text(index);
    }
    return undefined;
  }

  occupy(cidr: string): void {
    const index = this.#indexOf(cidr);
    if (index !== undefined) this.#used.add(index);
  }

  release(cidr: string): void {
    const index = this.#indexOf(cidr);
    if (index !== undefined) this.#used.delete(index);
  }

  #indexOf(cidr: string): number | undefined {
    const index = (addressNumber(cidr.split("/")[0] ?? "") - this.#base) / this.#size;
    return Number.isInteger(index) && index >= 0 && index < this.#count ? index : undefined;
  }

  get #size(): number {
    return 2 ** (32 - this.#maskBits);
  }

  #text(index: number): string {
    const address = this.#base + index * this.#size;
    const bytes = [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256);
    return `${bytes.join(".")}/${this.#maskBits}`;
  }
}

function addressNumber(address: string): number {
  return address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
}

/**
 * Allocates a range of pod addresses to each node. Mirrors pkg/controller/nodeipam/ipam/range_allocator.go.
 * Differs: IPv4 only.
 */
export function createNodeIpamController(deps: SharedDeps, clusterCidr: string): Controller {
  const recorder = deps.recorderFor("cidrAllocator");
  return { name: NAME, run: (signal) => new NodeIpamRun(deps, clusterCidr, recorder).run(signal) };
}

class NodeIpamRun {
  constructor(
    readonly deps: SharedDeps,
    readonly clusterCidr: string,
    readonly recorder: EventRecorder,
  ) {}

  async run(signal: AbortSignal): Promise<void> {
    const { clock, kubeVersion, reflectors } = this.deps;
    const nodes = reflectors.of<NodeObject>("nodes");
    const cidrs = new CidrSet(this.clusterCidr, factFor("nodeCidrMaskSize", kubeVersion));
    const queue = new WorkQueue(clock);
    const watch = async (stop: AbortSignal) => {
      await forEachChange(this.deps.trace, nodes.changes(stop), (item) => {
        if (item.type === "initDone") return;
        const owned = item.object.spec?.podCIDRs ?? [];
        if (item.type === "deleted") for (const cidr of owned) cidrs.release(cidr);
        else if (owned.length > 0) for (const cidr of owned) cidrs.occupy(cidr);
        else queue.add(nameOf(item.object));
      });
    };
    await concurrently(signal, watch, async (stop) => {
      // Ranges of existing nodes must be marked as used before the first allocation.
      await nodes.synced(stop);
      const allocate = (name: string) => this.#allocate(nodes.byKey(name), cidrs);
      await queue.run(allocate, retryReporter(this.deps, NAME), stop);
    });
  }

  /** Mirrors AllocateOrOccupyCIDR and updateCIDRsAllocation. */
  async #allocate(node: NodeObject | undefined, cidrs: CidrSet): Promise<void> {
    if (node === undefined || (node.spec?.podCIDRs ?? []).length > 0) return;
    const { client, trace } = this.deps;
    const name = nameOf(node);
    const podCIDR = cidrs.allocate();
    if (podCIDR === undefined) {
      const about = { apiVersion: "v1", kind: "Node", name };
      this.recorder.event(about, "Normal", "CIDRNotAvailable", `Node ${name} status is now: CIDRNotAvailable`);
      throw new Error(`no range of ${this.clusterCidr} is left`);
    }
    const cause = asController(
      trace,
      {
        kind: "decision",
        what: `give the pods of node ${name} addresses from ${podCIDR}`,
        why: `the next free range of ${this.clusterCidr}`,
        upstream: { file: FILE, func: "updateCIDRsAllocation" },
      },
      2,
    );
    let isTaken = false;
    const take = (current: NodeObject): NodeObject => {
      isTaken = (current.spec?.podCIDRs ?? []).length === 0;
      return isTaken ? { ...current, spec: { ...current.spec, podCIDR, podCIDRs: [podCIDR] } } : current;
    };
    try {
      await trace.because(cause, () => client.modify<NodeObject>("nodes", undefined, name, take));
    } finally {
      if (!isTaken) cidrs.release(podCIDR);
    }
  }
}
