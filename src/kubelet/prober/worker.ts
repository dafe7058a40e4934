import type { V1Probe } from "@kubernetes/client-node";
import type { V1Container, V1ContainerStatus, V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import { isPodPhaseTerminal } from "../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import type { Ctx } from "../../trace/ctx.js";
import { Waker } from "../../util/async/waker.js";
import { randomOf } from "../../util/random.js";
import type { ProbeResult } from "../container/runtime-helper.js";
import { podText } from "../types/pod-update.js";
import type { Prober } from "./prober.js";
import type { ProberMetrics } from "./prober-metrics.js";
import { ProberObserver } from "./prober-observer.js";
import { type ProbeResultsManager, parseContainerId } from "./results.js";
import type { ProbeType } from "./spec.js";

/** The result before a container's first probe. */
const INITIAL_RESULTS: Readonly<Record<ProbeType, ProbeResult>> = {
  // Not ready until it succeeds; alive until it fails; its start is unknown.
  readiness: "failure",
  liveness: "success",
  startup: "unknown",
};

export interface ProbeWorkerDeps extends Ctx {
  readonly prober: Pick<Prober, "probe">;
  readonly results: ProbeResultsManager;
  readonly metrics: Pick<ProberMetrics, "count" | "forget">;
  readonly statusManager: { getPodStatus(podUid: string): V1PodStatus | undefined };
}

export interface ProbeWorkerOptions {
  readonly type: ProbeType;
  readonly pod: V1Pod;
  readonly container: V1Container;
  readonly spec: Wire<V1Probe>;
  /** Unix ms at which the kubelet's probing began */
  readonly managerStartMs: number;
}

/** One probe as an inspector shows it. */
export interface ProbeView {
  /** `namespace/name` */
  readonly pod: string;
  readonly container: string;
  readonly type: ProbeType;
  /** what holds for the container now; undefined: no container was seen yet */
  readonly result: ProbeResult | undefined;
  /** the last probe's own result, and how many times in a row it came: a few failures do not count yet */
  readonly last: { readonly result: ProbeResult; readonly count: number } | undefined;
  readonly periodSeconds: number;
}

/**
 * Runs one probe of one container again and again, as long as its pod lives, across restarts of the container.
 *
 * Mirrors pkg/kubelet/prober/worker.go (worker).
 */
export class ProbeWorker {
  /** as the API writes it; undefined: no container was seen yet */
  #containerId: string | undefined;
  #lastResult: ProbeResult | undefined;
  /** how many times in a row the last result came */
  #resultRun = 0;
  /** on hold: the container is not probed any more, because it is about to be restarted */
  #onHold = false;
  readonly #waker = new Waker();

  constructor(
    readonly deps: ProbeWorkerDeps,
    readonly options: ProbeWorkerOptions,
  ) {}

  get view(): ProbeView {
    const { pod, container, type } = this.options;
    const id = this.#containerId;
    const last = this.#lastResult;
    return {
      pod: podText(pod),
      container: container.name,
      type,
      result: id === undefined ? undefined : this.deps.results.get(parseContainerId(id)),
      last: last === undefined ? undefined : { result: last, count: this.#resultRun },
      periodSeconds: this.#periodSeconds,
    };
  }

  get #periodSeconds(): number {
    return this.options.spec.periodSeconds ?? 10;
  }

  /** Probes at once instead of at the next tick; several calls count as one. */
  trigger(): void {
    this.#waker.wake();
  }

  /**
   * Probes every period until there is nothing left to probe.
   * @throws the signal's reason
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.deps;
    const periodMs = this.#periodSeconds * 1000;
    // Otherwise all probes of all pods would run at the same moment after a restart of the kubelet.
    if (periodMs > clock.now() - this.options.managerStartMs)
      await clock.sleep(randomOf(random, this.options.container.name).float() * periodMs, signal);
    let tickMs = clock.now() + periodMs;
    try {
      while (await this.#doProbe(signal)) {
        await this.#waker.wait(clock, tickMs, signal, {
          what: `probe ${this.options.container.name}`,
          setBy: "periodSeconds",
        });
        // A probe that took longer than a period makes up for one missed tick, not for all.
        while (tickMs <= clock.now()) tickMs += periodMs;
      }
    } finally {
      if (this.#containerId !== undefined) this.deps.results.remove(this.#containerId);
      this.deps.metrics.forget(this.options);
    }
  }

  /** @returns whether to continue. Mirrors doProbe. */
  async #doProbe(signal: AbortSignal): Promise<boolean> {
    const { type, pod, spec } = this.options;
    const status = this.deps.statusManager.getPodStatus(pod.metadata.uid);
    if (status === undefined) return true;
    if (isPodPhaseTerminal(status.phase)) return false;
    const container = this.#find(status);
    if (container === undefined) return true;
    const { containerID = "", state, started } = container;
    if (this.#containerId !== containerID) {
      if (this.#containerId !== undefined) this.deps.results.remove(this.#containerId);
      this.#containerId = containerID;
      this.#set(INITIAL_RESULTS[type]);
      this.#onHold = false;
    }
    if (this.#onHold) return true;
    const { running, terminated } = state ?? {};
    if (running === undefined || running === null) {
      this.#set("failure");
      const hasEnded = terminated !== undefined && terminated !== null;
      return !hasEnded || pod.spec.restartPolicy !== "Never";
    }
    if (pod.metadata.deletionTimestamp !== undefined && type !== "readiness") {
      // The pod is terminating: report no more failures.
      this.#set("success");
      return false;
    }
    const startedMs = Date.parse(running.startedAt ?? "");
    const ageSeconds = Math.trunc((this.deps.clock.now() - startedMs) / 1000);
    if (!Number.isNaN(startedMs) && ageSeconds < (spec.initialDelaySeconds ?? 0)) return true;
    // A started container's startup probe stops until the next container; before that, all other probes wait.
    if ((started === true) === (type === "startup")) return true;
    await this.#probe(status, containerID, signal);
    return true;
  }

  #find({ containerStatuses, initContainerStatuses }: V1PodStatus): V1ContainerStatus | undefined {
    const { name } = this.options.container;
    const all = [...(containerStatuses ?? []), ...(initContainerStatuses ?? [])];
    return all.find((one) => one.name === name && (one.containerID ?? "") !== "");
  }

  async #probe(status: V1PodStatus, apiContainerId: string, signal: AbortSignal): Promise<void> {
    const { type, pod, container, spec } = this.options;
    const startMs = this.deps.clock.now();
    const result = await this.deps.prober.probe({ type, pod, status, container, apiContainerId }, signal);
    if (result === undefined) return;
    this.deps.metrics.count(this.options, result, this.deps.clock.now() - startMs);
    this.#resultRun = this.#lastResult === result ? this.#resultRun + 1 : 1;
    this.#lastResult = result;
    const threshold = result === "failure" ? (spec.failureThreshold ?? 3) : (spec.successThreshold ?? 1);
    if (this.#resultRun < threshold) return;
    this.#set(result);
    if (result === "failure" && type !== "readiness") {
      // The container will be restarted: probing one that is being stopped can do harm.
      this.#onHold = true;
      this.#resultRun = 0;
    }
  }

  #set(result: ProbeResult): void {
    const { pod } = this.options;
    const containerId = this.#containerId;
    if (containerId === undefined) return;
    const { trace, results } = this.deps;
    // The sync that the result leads to names its fact as the cause.
    const id = trace.newId();
    const changed = results.set(containerId, result, pod, trace.keepScope({ causedBy: id }).scope);
    if (changed === undefined) return;
    new ProberObserver(trace).result(this.options, changed.before, result, id);
  }
}
