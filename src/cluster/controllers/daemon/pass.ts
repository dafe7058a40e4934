import type { NodeObject } from "../../../staging/apimachinery/api/node.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { Backoff } from "../../../staging/client-go/backoff.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { counted } from "../../../util/text/counted.js";
import type { PodToDelete } from "../support/active-pods.js";
import type { ControllerExpectations } from "../support/controller-expectations.js";
import type { OwnWrites } from "../support/own-writes.js";
import { isNamespaceTerminating, type PodControl } from "../support/pod-control.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { SLOW_START_INITIAL_BATCH_SIZE, slowStartBatch } from "../support/slow-start-batch.js";
import { decide } from "../support/sync-loop.js";
import { createPodTemplate, type DaemonSet, targetNodeName } from "./util/daemonset-util.js";

const FILE = "pkg/controller/daemon/daemon_controller.go";
/** The most pods that one sync creates or deletes; the next sync handles the rest. */
const BURST_REPLICAS = 250;

export interface PassDeps extends Pick<SharedDeps, "client" | "clock" | "trace"> {
  readonly recorder: EventRecorder;
  readonly podControl: PodControl;
  readonly expectations: ControllerExpectations;
  readonly failedPodsBackoff: Backoff;
  readonly written: OwnWrites<DaemonSet>;
  /** Syncs the set again later. */
  syncAfter(set: DaemonSet, delayMs: number): void;
  /** The pods that the set owns now: it adopts and releases. */
  claimPods(set: DaemonSet): Promise<PodObject[]>;
}

/** Pods of one set by the node that they run on or wait for. */
export type PodsByNode = ReadonlyMap<string, readonly PodObject[]>;

export interface NodeToFill {
  readonly nodeName: string;
  readonly why: string;
}

/** One pass over one DaemonSet, with what all its steps share. */
export class DaemonPass {
  constructor(
    readonly deps: PassDeps,
    readonly set: DaemonSet,
    readonly nodes: readonly NodeObject[],
    /** of the current template */
    readonly hash: string,
  ) {}

  get key(): string {
    return keyOf(this.set);
  }

  get nowMs(): number {
    return this.deps.clock.now();
  }

  event(type: "Normal" | "Warning", reason: string, message: string): void {
    this.deps.recorder.event(referenceTo(this.set), type, reason, message);
  }

  /** Reads the cache again at each call. Mirrors getNodesToDaemonPods. */
  async podsByNode(): Promise<Map<string, PodObject[]>> {
    const byNode = new Map<string, PodObject[]>();
    for (const pod of await this.deps.claimPods(this.set)) {
      const nodeName = targetNodeName(pod);
      if (nodeName === undefined) continue;
      const pods = byNode.get(nodeName);
      if (pods === undefined) byNode.set(nodeName, [pod]);
      else pods.push(pod);
    }
    return byNode;
  }

  /**
   * Creates pods for these nodes, and deletes these pods, 250 of each at most. Mirrors syncNodes.
   * @throws the first refusal, after all were tried
   */
  async syncNodes(nodesToFill: readonly NodeToFill[], podsToDelete: readonly PodToDelete[]): Promise<void> {
    const filled = nodesToFill.slice(0, BURST_REPLICAS);
    const deleted = podsToDelete.slice(0, BURST_REPLICAS);
    if (filled.length === 0 && deleted.length === 0) return;
    this.deps.expectations.set(this.key, filled.length, deleted.length);
    const failure = await this.#createPods(filled);
    const deletions = deleted.map((one) => this.#deletePod(one));
    const failed = (await Promise.allSettled(deletions)).find((result) => result.status === "rejected");
    if (failure !== undefined) throw failure.error;
    if (failed !== undefined) throw failed.reason;
  }

  async #createPods(nodes: readonly NodeToFill[]): Promise<{ readonly error: unknown } | undefined> {
    if (nodes.length === 0) return undefined;
    const { expectations, trace } = this.deps;
    const what = `create ${counted(nodes.length, "pod")} for DaemonSet ${this.key}`;
    const why = reasonsOf(nodes);
    const constants = [
      { name: "BurstReplicas", value: String(BURST_REPLICAS) },
      { name: "SlowStartInitialBatchSize", value: String(SLOW_START_INITIAL_BATCH_SIZE) },
    ];
    return decide(trace, { what, why, constants, upstream: { file: FILE, func: "syncNodes" } }, async () => {
      const next = nodes.values();
      const { successes, failure } = await slowStartBatch(nodes.length, SLOW_START_INITIAL_BATCH_SIZE, async () => {
        for (const { nodeName } of next) return this.#createPod(nodeName);
      });
      // The watch will not show the pods that were not created.
      expectations.lower(this.key, nodes.length - successes, 0);
      return failure;
    });
  }

  async #createPod(nodeName: string): Promise<void> {
    try {
      await this.deps.podControl.create(this.set, createPodTemplate(this.set, this.hash, nodeName));
    } catch (error) {
      // Every creation fails until the namespace is gone, and this object with it.
      if (!isNamespaceTerminating(error)) throw error;
    }
  }

  async #deletePod({ pod, why }: PodToDelete): Promise<void> {
    const { expectations, podControl, trace } = this.deps;
    const decision = { what: `delete pod ${keyOf(pod)}`, why, upstream: { file: FILE, func: "syncNodes" } };
    let isDeleted = false;
    try {
      const { namespace } = pod.metadata;
      isDeleted = await decide(trace, decision, () => podControl.delete(this.set, namespace, nameOf(pod)));
    } finally {
      // The watch will not show a deletion that did not happen.
      if (!isDeleted) expectations.deletionObserved(this.key);
    }
  }
}

const SHOWN_NODES = 5;

/** `n1, n2: it fits, and has no pod` */
function reasonsOf(nodes: readonly NodeToFill[]): string {
  const byReason = new Map<string, string[]>();
  for (const { nodeName, why } of nodes) byReason.set(why, [...(byReason.get(why) ?? []), nodeName]);
  const texts = [...byReason].map(([why, names]) => {
    const more = names.length - SHOWN_NODES;
    const shown = names.slice(0, SHOWN_NODES).join(", ");
    return `${names.length === 1 ? "node" : "nodes"} ${shown}${more > 0 ? ` and ${more} more` : ""}: ${why}`;
  });
  return texts.join("; ");
}
