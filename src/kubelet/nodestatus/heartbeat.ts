import {
  type NodeCondition,
  type NodeObject,
  type NodeStatus,
  nodeCondition,
} from "../../staging/apimachinery/api/node.js";
import { isSuccess, statusMessage } from "../../staging/client-go/rest/answers.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { NODES, objectPath } from "../../staging/client-go/rest/paths.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { factFor } from "../../util/release/facts.js";
import { NodeStatusObserver } from "./node-status-observer.js";
import { nodeStatusHasChanged, nodeStatusPatch } from "./patch.js";

const UPDATE = { what: "compare the Node's status", setBy: "nodeStatusUpdateFrequency" };

export interface HeartbeatDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly trace: Trace;
}

export interface HeartbeatOptions {
  readonly nodeName: string;
  readonly kubeVersion: string;
  /** ms; default: 10 s */
  readonly updateFrequencyMs?: number;
  /** ms; default: 5 min */
  readonly reportFrequencyMs?: number;
  /** the current status as the kubelet sees it, merged into the one that the API server has */
  readonly setStatus: (before: NodeStatus, nowMs: number) => NodeStatus;
  /** called with Unix ms for each status that the API server accepted */
  readonly onReport?: (reportMs: number) => void;
  /** called when a write of ours has changed the status of Ready or of a pressure */
  readonly onCondition?: (condition: NodeCondition) => void;
}

export type HeartbeatOutcome = "patched" | "unchanged" | "failed";

/** heartbeatClient's timeout: a hanging update must not use up the whole grace period. */
const REQUEST_TIMEOUT_MS = 10_000;
const OWN_CONDITIONS = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];

/**
 * Keeps the node's status up to date: checks it every 10 s, and writes it when something changed, or when the last
 * write was 5 minutes ago (nodeStatusUpdateFrequency, nodeStatusReportFrequency). In between the Lease shows that the node is alive.
 *
 * Mirrors pkg/kubelet/kubelet_node_status.go (syncNodeStatus, updateNodeStatus, tryUpdateNodeStatus).
 */
export class NodeStatusHeartbeat {
  readonly #observer: NodeStatusObserver;
  #lastReportMs = Number.NEGATIVE_INFINITY;

  readonly #updateMs: number;
  readonly #reportMs: number;

  constructor(
    readonly deps: HeartbeatDeps,
    readonly options: HeartbeatOptions,
  ) {
    const { kubeVersion, updateFrequencyMs, reportFrequencyMs } = options;
    this.#observer = new NodeStatusObserver(deps.trace);
    this.#updateMs = updateFrequencyMs ?? factFor("nodeStatusUpdateFrequency", kubeVersion);
    this.#reportMs = reportFrequencyMs ?? factFor("nodeStatusReportFrequency", kubeVersion);
  }

  /** Checks at each interval until `signal` aborts (then rejects with its reason). The first check comes after one. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.deps.clock.sleep(this.#updateMs, signal, UPDATE);
      await this.update(signal);
    }
  }

  /** One check, with up to five attempts. A missing node or an unreachable server is reported and not thrown. */
  async update(signal: AbortSignal): Promise<HeartbeatOutcome> {
    const retries = factFor("nodeStatusUpdateRetry", this.options.kubeVersion);
    let failure = "";
    for (let attempt = 0; attempt < retries; attempt++) {
      try {
        const outcome = await this.#tryUpdate(attempt, signal);
        if (outcome.outcome !== "failed") return outcome.outcome;
        failure = outcome.why;
      } catch (error) {
        if (signal.aborted || !(error instanceof LabError)) throw error;
        failure = error.message;
      }
    }
    this.#observer.notUpdated(retries, failure);
    return "failed";
  }

  async #tryUpdate(
    attempt: number,
    signal: AbortSignal,
  ): Promise<{ outcome: "patched" | "unchanged" } | { outcome: "failed"; why: string }> {
    const { client, clock } = this.deps;
    const { nodeName } = this.options;
    // The first attempt may read the API server's cache, which is cheaper; after a conflict the next one reads the
    // store.
    const query = { ...(attempt === 0 ? { resourceVersion: "0" } : {}), timeout: "10s" };
    const path = objectPath(NODES, nodeName);
    const answer = await client.request<NodeObject>({
      method: "GET",
      path,
      query,
      timeoutMs: REQUEST_TIMEOUT_MS,
      signal,
    });
    if (!isSuccess(answer)) return { outcome: "failed", why: statusMessage(answer) };
    const node = answer.body;
    const before = node.status ?? {};
    const nowMs = clock.now();
    const after = this.options.setStatus(before, nowMs);
    const isDue = nowMs - this.#lastReportMs >= this.#reportMs;
    if (!isDue && !nodeStatusHasChanged(before, after)) return { outcome: "unchanged" };
    const patch = nodeStatusPatch(before, after);
    if (patch === undefined) {
      this.#observer.sameStatus(nodeName);
      this.#lastReportMs = nowMs;
      return { outcome: "unchanged" };
    }
    const failure = await this.#patch(node, patch, nodeStatusHasChanged(before, after), signal);
    if (failure !== undefined) return { outcome: "failed", why: failure };
    this.#lastReportMs = nowMs;
    this.options.onReport?.(nowMs);
    return { outcome: "patched" };
  }

  /** @returns the reason when the API server refused */
  async #patch(node: NodeObject, body: unknown, hasChanged: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { client } = this.deps;
    const { nodeName, kubeVersion } = this.options;
    const isFirst = this.#lastReportMs === Number.NEGATIVE_INFINITY;
    const periods = { kubeVersion, updateMs: this.#updateMs, reportMs: this.#reportMs };
    this.#observer.patches(nodeName, hasChanged, isFirst, periods);
    const answer = await client.request<NodeObject>({
      method: "PATCH",
      path: objectPath(NODES, nodeName, "status"),
      query: { timeout: "10s" },
      contentType: "application/strategic-merge-patch+json",
      timeoutMs: REQUEST_TIMEOUT_MS,
      body,
      signal,
    });
    if (!isSuccess(answer)) return statusMessage(answer);
    for (const type of OWN_CONDITIONS) this.#reportCondition(node, answer.body, type);
    return undefined;
  }

  #reportCondition(before: NodeObject, after: NodeObject, type: string): void {
    const from = nodeCondition(before, type);
    const to = nodeCondition(after, type);
    if (to === undefined || from?.status === to.status) return;
    this.#observer.conditionChanged(this.options.nodeName, from, to);
    this.options.onCondition?.(to);
  }
}
