import type { Controller } from "../../cluster/controllers/controller.js";
import { changesOf, runSyncLoop } from "../../cluster/controllers/support/sync-loop.js";
import { type NodeObject, nodeCondition } from "../../staging/apimachinery/api/node.js";
import { type LeaseObject, nameOf } from "../../staging/apimachinery/api/objects.js";
import { rfc3339Micro } from "../../staging/apimachinery/time.js";
import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import type { SharedReflectors } from "../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../staging/client-go/workqueue.js";
import { leaseDurationSeconds, renewIntervalMs } from "../../staging/component-helpers/lease/lease-observer.js";
import type { Ctx } from "../../trace/ctx.js";
import { factFor } from "../../util/release/facts.js";
import type { SimulatedNode } from "./node.js";

/** The dependencies of the controllers of simulated nodes and their pods. */
export interface SimulationDeps extends Ctx {
  readonly client: LocalClient;
  readonly reflectors: SharedReflectors;
  readonly kubeVersion: string;
  readonly nodes: ReadonlyMap<string, SimulatedNode>;
}

/** The backoff after a refused write, doubled each time. */
export const RETRIES = { baseDelayMs: 1_000 };

/** The number of Leases renewed in one turn: thousands of single turns would come too late while controllers are busy. */
const RENEWED_AT_ONCE = 25;

const LEASES = "leases.coordination.k8s.io";
const LEASE_NAMESPACE = "kube-node-lease";

/**
 * Keeps Leases and statuses of simulated nodes fresh while their Nodes exist, as their kubelets would. A deleted Node
 * means that the machine is gone; a new Node with its name means that it is back.
 */
export class SimulatedNodesController implements Controller {
  readonly name = "simulated-nodes";

  constructor(readonly deps: SimulationDeps) {}

  run(signal: AbortSignal): Promise<void> {
    const { clock, random, trace, kubeVersion, reflectors, nodes } = this.deps;
    const reflector = reflectors.of<NodeObject>("nodes");
    const leases = new WorkQueue(clock, RETRIES);
    const statuses = new WorkQueue(clock, RETRIES);
    const reportMs = factFor("nodeStatusReportFrequency", kubeVersion);
    const renewMs = renewIntervalMs({ kubeVersion });
    const groups = groupsOf([...nodes.keys()]);
    const source = changesOf(reflector, {
      added: (node) => {
        const name = nameOf(node);
        const group = groups.keyOf.get(name);
        if (group === undefined) return;
        leases.add(group);
        // The Node of an earlier process, or of a client.
        if (!isReported(node, clock.now() - reportMs)) statuses.add(name);
        else statuses.addAfter(name, random.float() * reportMs);
      },
      updated: (_previous, node) => {
        if (nodes.has(nameOf(node)) && !isReported(node, 0)) statuses.add(nameOf(node));
      },
      deleted: (node) => statuses.cancel(nameOf(node)),
    });
    const begun = new Set<string>();
    const renew = async (key: string) => {
      const there = (groups.names.get(key) ?? []).flatMap((name) => reflector.byKey(name) ?? []);
      await Promise.all(there.map((node) => this.#renewLease(node)));
      // All register at once, so their first renewals are spread over the interval.
      const jitter = random.float();
      const intervals = begun.has(key) ? 1 + jitter * factFor("leaseJitterFactor", kubeVersion) : jitter;
      begun.add(key);
      leases.addAfter(key, renewMs * intervals);
    };
    const report = async (name: string) => {
      await this.#reportStatus(name);
      statuses.addAfter(name, reportMs);
    };
    const loop = { name: this.name, trace, sources: [source] };
    return runSyncLoop({ ...loop, queue: leases, sync: renew, others: [{ queue: statuses, sync: report }] }, signal);
  }

  /** Mirrors sync in k8s.io/component-helpers/apimachinery/lease/controller.go. */
  async #renewLease(node: NodeObject): Promise<void> {
    const { client, clock, kubeVersion } = this.deps;
    const name = nameOf(node);
    const renewTime = rfc3339Micro(clock.now());
    const renewed = await client.modify<LeaseObject>(LEASES, LEASE_NAMESPACE, name, (lease) => ({
      ...lease,
      spec: { ...lease.spec, renewTime },
    }));
    if (renewed !== undefined) return;
    const owner = { apiVersion: "v1", kind: "Node", name, uid: node.metadata.uid ?? "" };
    await client.create(LEASES, LEASE_NAMESPACE, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, namespace: LEASE_NAMESPACE, ownerReferences: [owner] },
      spec: { holderIdentity: name, leaseDurationSeconds: leaseDurationSeconds({ kubeVersion }), renewTime },
    });
  }

  async #reportStatus(name: string): Promise<void> {
    const { client, clock, nodes } = this.deps;
    const change = (node: NodeObject): NodeObject => {
      const status = nodes.get(name)?.status(node.status ?? {}, clock.now());
      return status === undefined ? node : { ...node, status };
    };
    await client.modify<NodeObject>("nodes", undefined, name, change, "status");
  }
}

/** Nodes whose Leases are renewed together. */
function groupsOf(all: readonly string[]) {
  const names = new Map<string, readonly string[]>();
  for (let i = 0; i < all.length; i += RENEWED_AT_ONCE) names.set(String(i), all.slice(i, i + RENEWED_AT_ONCE));
  const keyOf = new Map([...names].flatMap(([key, group]) => group.map((name) => [name, key] as const)));
  return { names, keyOf };
}

/** Whether the kubelet has reported Ready at or after a time. */
function isReported(node: NodeObject, sinceMs: number): boolean {
  const ready = nodeCondition(node, "Ready");
  return ready?.status === "True" && Date.parse(ready.lastHeartbeatTime ?? "") >= sinceMs;
}
