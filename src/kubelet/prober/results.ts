import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Scope } from "../../trace/scope.js";
import { AsyncQueue } from "../../util/async/async-queue.js";
import { defined } from "../../util/defined.js";
import type { ProbeResult, ProbeResults } from "../container/runtime-helper.js";

/** A container's result has changed. */
export interface ProbeUpdate {
  readonly podUid: string;
  /** as the API writes it: `containerd://4f0c…` */
  readonly containerId: string;
  readonly result: ProbeResult;
  /** why it has changed, if a trace keeps causes */
  readonly scope?: Scope;
}

/** How many changes may wait for the sync loop; a lost one is found with the pod's next sync. */
const MAX_WAITING_UPDATES = 1_000;

/**
 * The latest result of one kind of probe for each container, and a channel of changes.
 *
 * Mirrors pkg/kubelet/prober/results/results_manager.go (manager).
 * Differs: a full channel drops changes, where upstream's worker waits.
 */
export class ProbeResultsManager implements ProbeResults {
  readonly #results = new Map<string, ProbeResult>();
  readonly #updates = new AsyncQueue<ProbeUpdate>(MAX_WAITING_UPDATES);

  /** @param containerId the runtime's own text */
  get(containerId: string): ProbeResult | undefined {
    return this.#results.get(containerId);
  }

  /**
   * Stores the result, and reports it when it differs from the previous one.
   * @param apiContainerId as the API writes it
   * @param scope why it has changed
   * @returns the previous one, when it differs
   */
  set(
    apiContainerId: string,
    result: ProbeResult,
    pod: V1Pod,
    scope?: Scope,
  ): { readonly before: ProbeResult | undefined } | undefined {
    const containerId = parseContainerId(apiContainerId);
    const before = this.#results.get(containerId);
    if (before === result) return undefined;
    this.#results.set(containerId, result);
    this.#updates.push({ podUid: pod.metadata.uid, containerId: apiContainerId, result, ...defined({ scope }) });
    return { before };
  }

  /** @param apiContainerId as the API writes it */
  remove(apiContainerId: string): void {
    this.#results.delete(parseContainerId(apiContainerId));
  }

  /** Changes from now on, for one reader; ends when `signal` aborts. */
  updates(signal?: AbortSignal): AsyncGenerator<ProbeUpdate> {
    return this.#updates.iterate(signal);
  }

  close(): void {
    this.#updates.close();
  }
}

/** `4f0c…` of `containerd://4f0c…`. Mirrors ParseContainerID. */
export function parseContainerId(apiContainerId: string): string {
  const at = apiContainerId.indexOf("://");
  return at < 0 ? apiContainerId : apiContainerId.slice(at + 3);
}
