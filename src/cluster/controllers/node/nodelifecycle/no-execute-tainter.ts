import {
  type NodeCondition,
  type NodeObject,
  nodeCondition,
  type Taint,
  taintText,
} from "../../../../staging/apimachinery/api/node.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { SharedReflector } from "../../../../staging/client-go/informers/shared-reflector.js";
import { runInScope, versionOf } from "../../../../trace/scope.js";
import { Waker } from "../../../../util/async/waker.js";
import { messageOf } from "../../../../util/errors.js";
import { constantsFor, factFor } from "../../../../util/release/facts.js";
import { asController, type SharedDeps } from "../../support/shared-deps.js";
import { RateLimitedQueue } from "./rate-limited-queue.js";
import { hasTaint, TAINT_NOT_READY, TAINT_UNREACHABLE, withTaints } from "./taints.js";
import { type EvictionRates, evictionRate, type ZoneState, zoneKey, zoneState, zoneText } from "./zones.js";

const PASS = {
  who: "kube-controller-manager",
  what: "taint the nodes that are not ready",
  setBy: "nodeEvictionPeriod",
};

const FILE = "pkg/controller/nodelifecycle/node_lifecycle_controller.go";
/** The delay before a node that could not be tainted is tried again. */
const RETRY_MS = 50;

/**
 * Adds the NoExecute taints that evict pods. Unlike NoSchedule taints they pass through one rate-limited queue per
 * zone, and stop while every node is unreachable, because then the fault is more likely on this side.
 *
 * Mirrors the evictor part of node_lifecycle_controller.go (doNoExecuteTaintingPass, handleDisruption).
 * Differs: upstream checks its queues every 100 ms; here a timer is set only for a tick at which something can happen.
 */
export class NoExecuteTainter {
  readonly #deps: SharedDeps;
  readonly #nodes: SharedReflector<NodeObject>;
  readonly #rates: EvictionRates;
  readonly #queues = new Map<string, RateLimitedQueue>();
  readonly #zoneStates = new Map<string, ZoneState>();
  readonly #waker = new Waker();

  constructor(deps: SharedDeps, nodes: SharedReflector<NodeObject>) {
    this.#deps = deps;
    this.#nodes = nodes;
    this.#rates = {
      normal: factFor("nodeEvictionRate", deps.kubeVersion),
      secondary: factFor("secondaryNodeEvictionRate", deps.kubeVersion),
      largeClusterThreshold: factFor("largeClusterSizeThreshold", deps.kubeVersion),
    };
  }

  /** @throws the signal's reason */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, kubeVersion } = this.#deps;
    const startMs = clock.now();
    const periodMs = factFor("nodeEvictionPeriod", kubeVersion);
    /** The last tick at or before a time: ticks are at start + n * 100 ms. */
    const tickBefore = (ms: number) => startMs + Math.floor((ms - startMs) / periodMs) * periodMs;
    for (;;) {
      const dueMs = this.#nextMs();
      const nextMs =
        dueMs === undefined
          ? undefined
          : Math.max(tickBefore(clock.now()) + periodMs, tickBefore(dueMs + periodMs - 1));
      await this.#waker.wait(clock, nextMs, signal, PASS);
      if (nextMs !== undefined && clock.now() >= nextMs) await this.#doNoExecuteTaintingPass();
    }
  }

  #nextMs(): number | undefined {
    let next: number | undefined;
    for (const queue of this.#queues.values()) {
      const dueMs = queue.nextMs();
      if (dueMs !== undefined) next = next === undefined ? dueMs : Math.min(next, dueMs);
    }
    return next;
  }

  /** Mirrors addPodEvictorForNewZone. */
  addZone(node: NodeObject): void {
    const zone = zoneKey(node);
    if (this.#zoneStates.has(zone)) return;
    this.#zoneStates.set(zone, "Initial");
    this.#queues.set(zone, new RateLimitedQueue(this.#rates.normal));
  }

  async #doNoExecuteTaintingPass(): Promise<void> {
    const { clock } = this.#deps;
    for (const queue of this.#queues.values()) {
      for (let next = queue.take(clock.now()); next !== undefined; next = queue.take(clock.now())) {
        const { nodeName, scope } = next;
        const isDone = await runInScope(scope, () => this.#taint(nodeName));
        queue.settle(nodeName, isDone ? undefined : clock.now() + RETRY_MS);
      }
    }
  }

  /** @returns false if the node must be tried again */
  async #taint(name: string): Promise<boolean> {
    const node = this.#nodes.byKey(name);
    if (node === undefined) return true;
    const ready = nodeCondition(node, "Ready");
    if (ready === undefined) return false;
    if (ready.status === "True") return true;
    const [add, remove] =
      ready.status === "Unknown" ? [TAINT_UNREACHABLE, TAINT_NOT_READY] : [TAINT_NOT_READY, TAINT_UNREACHABLE];
    const why = `Ready is ${ready.status}, and it was the node's turn in the queue of ${zoneText(zoneKey(node))}`;
    return this.#deps.trace.because({ causedBy: versionOf(node) }, () =>
      this.#swap(node, add, remove, why, "doNoExecuteTaintingPass"),
    );
  }

  /** Replaces one NoExecute taint with the other. @returns false if the write failed */
  async #swap(node: NodeObject, addKey: string, removeKey: string, why: string, func: string): Promise<boolean> {
    const { client, clock, kubeVersion, trace } = this.#deps;
    const add = noExecute(addKey);
    const cause = asController(trace, {
      kind: "decision",
      what: `node ${nameOf(node)}: add ${taintText(add)}; pods that do not tolerate it are evicted`,
      why,
      constants: constantsFor(kubeVersion, "nodeEvictionRate", "nodeEvictionPeriod"),
      upstream: { file: FILE, func },
    });
    const change = (current: NodeObject) =>
      withTaints(current, { add: [add], remove: [noExecute(removeKey)] }, clock.now());
    const write = () => client.modify<NodeObject>("nodes", undefined, nameOf(node), change);
    return trace.because(cause, () => this.#attempt(`taint node ${nameOf(node)}`, write));
  }

  /** Swaps the taint on a node with the opposite one, queues other nodes. Mirrors processTaintBaseEviction. */
  async swapOrQueue(node: NodeObject, key: string, oppositeKey: string): Promise<void> {
    if (hasTaint(node.spec?.taints, noExecute(oppositeKey))) {
      await this.#swap(node, key, oppositeKey, "the node has the opposite taint", "processTaintBaseEviction");
      return;
    }
    const queue = this.#queues.get(zoneKey(node));
    if (queue === undefined) return;
    // Every pass queues a node without the taint again, even if another client removed the taint.
    if (!hasTaint(node.spec?.taints, noExecute(key))) queue.remove(nameOf(node));
    if (queue.add(nameOf(node), this.#deps.clock.now())) this.#waker.wake();
  }

  /** Mirrors markNodeAsReachable. */
  async markNodeAsReachable(node: NodeObject): Promise<void> {
    const { client, clock, trace } = this.#deps;
    const remove = [noExecute(TAINT_UNREACHABLE), noExecute(TAINT_NOT_READY)].filter((taint) =>
      hasTaint(node.spec?.taints, taint),
    );
    if (remove.length > 0) {
      const cause = asController(trace, {
        kind: "decision",
        what: `node ${nameOf(node)}: remove ${remove.map(taintText).join(", ")}`,
        why: "the node counts as reachable in this pass",
        upstream: { file: FILE, func: "markNodeAsReachable" },
      });
      const change = (current: NodeObject) => withTaints(current, { add: [], remove }, clock.now());
      const write = () => client.modify<NodeObject>("nodes", undefined, nameOf(node), change);
      const attempt = () => this.#attempt(`remove taints of node ${nameOf(node)}`, write);
      const isDone = await trace.because(cause, attempt);
      if (!isDone) return;
    }
    this.#queues.get(zoneKey(node))?.remove(nameOf(node));
  }

  /**
   * Adapts the eviction rate to the state of each zone; stops evictions while all zones are down.
   * Mirrors handleDisruption.
   *
   * @returns true if the cluster leaves a full disruption: all grace periods start again
   */
  async handleDisruption(
    byZone: ReadonlyMap<string, readonly (NodeCondition | undefined)[]>,
    nodes: readonly NodeObject[],
  ): Promise<boolean> {
    const threshold = factFor("unhealthyZoneThreshold", this.#deps.kubeVersion);
    const next = new Map([...byZone].map(([zone, conditions]) => [zone, zoneState(conditions, threshold)]));
    for (const zone of next.keys()) if (!this.#zoneStates.has(zone)) this.#zoneStates.set(zone, "Initial");
    for (const zone of [...this.#zoneStates.keys()]) if (!next.has(zone)) this.#zoneStates.delete(zone);
    const isAllDown = [...next.values()].every((state) => state === "FullDisruption");
    const wasAllDown = [...this.#zoneStates.values()].every((state) => state === "FullDisruption");
    if (isAllDown && wasAllDown) return false;
    if (isAllDown) {
      await this.#enterFullDisruption(nodes);
      return false;
    }
    const nowMs = this.#deps.clock.now();
    for (const [zone, state] of next) {
      if (!wasAllDown && this.#zoneStates.get(zone) === state) continue;
      this.#reportZone(zone, this.#zoneStates.get(zone), state);
      const rate = evictionRate(state, byZone.get(zone)?.length ?? 0, this.#rates);
      this.#queues.get(zone)?.swapLimiter(rate, nowMs);
      this.#zoneStates.set(zone, state);
    }
    this.#waker.wake();
    return wasAllDown;
  }

  async #enterFullDisruption(nodes: readonly NodeObject[]): Promise<void> {
    asController(this.#deps.trace, {
      kind: "decision",
      what: "stop all evictions: no node gets a NoExecute taint",
      why: "no node of the cluster is Ready, so the fault is more likely on this side",
      upstream: { file: FILE, func: "handleDisruption" },
    });
    for (const node of nodes) await this.markNodeAsReachable(node);
    for (const zone of this.#zoneStates.keys()) {
      this.#queues.get(zone)?.swapLimiter(0, this.#deps.clock.now());
      this.#zoneStates.set(zone, "FullDisruption");
    }
    this.#waker.wake();
  }

  #reportZone(zone: string, from: ZoneState | undefined, to: ZoneState): void {
    const isNews = from !== "Initial" || to !== "Normal";
    asController(
      this.#deps.trace,
      {
        kind: "state",
        subject: zoneText(zone),
        what: "state",
        ...(from === undefined ? {} : { from }),
        to,
        upstream: { file: FILE, func: "handleDisruption" },
      },
      isNews ? 1 : 3,
    );
  }

  async #attempt(what: string, write: () => Promise<unknown>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      const message = `nodelifecycle: could not ${what}: ${messageOf(error)}`;
      asController(this.#deps.trace, { kind: "error", message, hint: "the next pass tries again" });
      return false;
    }
  }
}

function noExecute(key: string): Taint {
  return { key, effect: "NoExecute" };
}
