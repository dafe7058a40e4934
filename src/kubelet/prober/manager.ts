import {
  containersOf,
  sidecarsOf,
  type V1Container,
  type V1ContainerStatus,
  type V1Pod,
  type V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { isAbortError } from "../../util/errors.js";
import type { Random } from "../../util/random.js";
import { factFor } from "../../util/release/facts.js";
import { podText } from "../types/pod-update.js";
import type { Prober } from "./prober.js";
import { ProberMetrics } from "./prober-metrics.js";
import { ProberObserver } from "./prober-observer.js";
import { ProbeResultsManager, parseContainerId } from "./results.js";
import { PROBE_TYPES, type ProbeType, probeOf } from "./spec.js";
import { type ProbeView, ProbeWorker } from "./worker.js";

export interface ProbeManagerDeps {
  readonly prober: Pick<Prober, "probe">;
  readonly statusManager: { getPodStatus(podUid: string): V1PodStatus | undefined };
  readonly clock: Clock;
  /** spreads the first probes after a start of the kubelet */
  readonly random: Random;
  readonly trace: Trace;
}

interface Running {
  readonly podUid: string;
  readonly type: ProbeType;
  readonly worker: ProbeWorker;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/**
 * One worker for each probe of each container of each pod. Three results managers hold the results, and the sync loop
 * reads their changes.
 *
 * Mirrors pkg/kubelet/prober/prober_manager.go (manager).
 */
export class ProbeManager implements AsyncDisposable {
  readonly livenessManager = new ProbeResultsManager();
  readonly readinessManager = new ProbeResultsManager();
  readonly startupManager = new ProbeResultsManager();
  readonly metrics: ProberMetrics;
  readonly #startMs: number;
  /** by pod uid, container and type */
  readonly #workers = new Map<string, Running>();

  constructor(
    readonly deps: ProbeManagerDeps,
    readonly options: { readonly kubeVersion: string },
  ) {
    this.#startMs = deps.clock.now();
    this.metrics = new ProberMetrics(this.#startMs);
  }

  /** The number of active probe workers. */
  get workers(): number {
    return this.#workers.size;
  }

  /** All probes, in the order in which they began. */
  views(): readonly ProbeView[] {
    return [...this.#workers.values()].map(({ worker }) => worker.view);
  }

  /** Starts to probe a pod's containers; running workers continue. */
  addPod(pod: V1Pod): void {
    for (const container of [...containersOf(pod), ...sidecarsOf(pod)]) {
      for (const type of PROBE_TYPES) this.#add(pod, container, type);
    }
  }

  /** Stops the probes that could restart a container of an ending pod. Mirrors StopLivenessAndStartup. */
  stopLivenessAndStartup(pod: V1Pod): void {
    this.#stop(({ podUid, type }) => podUid === pod.metadata.uid && type !== "readiness");
  }

  removePod(pod: V1Pod): void {
    this.#stop(({ podUid }) => podUid === pod.metadata.uid);
  }

  /** Ends the probes of all other pods. */
  cleanupPods(desiredPodUids: ReadonlySet<string>): void {
    this.#stop(({ podUid }) => !desiredPodUids.has(podUid));
  }

  /**
   * The status with `started` and `ready` from the probes. A container without a probe is ready once it runs.
   * Mirrors UpdatePodStatus.
   */
  updatePodStatus(pod: V1Pod, status: V1PodStatus): V1PodStatus {
    const { containerStatuses, initContainerStatuses } = status;
    const { uid } = pod.metadata;
    const sidecars = new Set(sidecarsOf(pod).map(({ name }) => name));
    const initStatus = (one: V1ContainerStatus) =>
      sidecars.has(one.name) ? this.#withProbes(uid, one) : this.#withInitReady(uid, one);
    return {
      ...status,
      ...(containerStatuses ? { containerStatuses: containerStatuses.map((one) => this.#withProbes(uid, one)) } : {}),
      ...(initContainerStatuses ? { initContainerStatuses: initContainerStatuses.map(initStatus) } : {}),
    };
  }

  /** Ends all probes and waits for them. */
  async close(): Promise<void> {
    const running = [...this.#workers.values()];
    this.#stop(() => true);
    await Promise.all(running.map(({ done }) => done));
    for (const results of [this.livenessManager, this.readinessManager, this.startupManager]) results.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #resultsOf(type: ProbeType): ProbeResultsManager {
    return { liveness: this.livenessManager, readiness: this.readinessManager, startup: this.startupManager }[type];
  }

  #add(pod: V1Pod, container: V1Container, type: ProbeType): void {
    const podUid = pod.metadata.uid;
    const spec = probeOf(container, type);
    const key = keyOf(podUid, container.name, type);
    if (spec === undefined || this.#workers.has(key)) return;
    const { deps } = this;
    const options = { type, pod, container, spec, managerStartMs: this.#startMs };
    const worker = new ProbeWorker({ ...deps, results: this.#resultsOf(type), metrics: this.metrics }, options);
    const stop = new AbortController();
    const running: Running = {
      podUid,
      type,
      worker,
      stop,
      done: deps.trace
        .detached(() => deps.trace.because({ pod: podText(pod) }, () => worker.run(stop.signal)))
        .then(
          () => this.#ended(key, running),
          (error: unknown) => {
            this.#ended(key, running);
            if (!isAbortError(error)) this.#failed(`${type} probe of ${container.name} in ${podText(pod)}`, error);
          },
        ),
    };
    this.#workers.set(key, running);
  }

  #ended(key: string, running: Running): void {
    if (this.#workers.get(key) === running) this.#workers.delete(key);
  }

  /** Upstream's worker recovers from a panic and goes on; ours ends, and the pod's next sync starts a new one. */
  #failed(what: string, error: unknown): void {
    new ProberObserver(this.deps.trace).workerFailed(what, error);
  }

  /** Removes a stopped worker at once, though it may still have a probe under way. */
  #stop(which: (running: Running) => boolean): void {
    for (const [key, running] of this.#workers) {
      if (!which(running)) continue;
      this.#workers.delete(key);
      running.stop.abort();
    }
  }

  #withProbes(podUid: string, status: V1ContainerStatus): V1ContainerStatus {
    const { name, containerID = "" } = status;
    const started = this.#isStarted(podUid, status);
    if (!started) return { ...status, started, ready: false };
    if (this.readinessManager.get(parseContainerId(containerID)) === "success")
      return { ...status, started, ready: true };
    const readiness = this.#workers.get(keyOf(podUid, name, "readiness"));
    // It has just started, or was not ready at the last probe: probe now instead of at the next tick.
    readiness?.worker.trigger();
    return { ...status, started, ready: readiness === undefined };
  }

  /** It runs, and its startup probe, if any, has succeeded. Mirrors isContainerStarted of later releases. */
  #isStarted(podUid: string, { name, state, containerID = "" }: V1ContainerStatus): boolean {
    if (state?.running === undefined || state.running === null) return false;
    const startup = this.startupManager.get(parseContainerId(containerID));
    return startup === undefined ? !this.#workers.has(keyOf(podUid, name, "startup")) : startup === "success";
  }

  /** An init container is ready when it has completed with exit code 0. */
  #withInitReady(podUid: string, status: V1ContainerStatus): V1ContainerStatus {
    const ready = status.state?.terminated?.exitCode === 0;
    if (!factFor("initContainerStarted", this.options.kubeVersion)) return { ...status, ready };
    return { ...status, started: this.#isStarted(podUid, status), ready };
  }
}

function keyOf(podUid: string, containerName: string, type: ProbeType): string {
  return `${podUid}/${containerName}/${type}`;
}
