import type { Trace } from "../../trace/trace.js";
import { until } from "../../trace/until.js";
import { allUntilOneEnds } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import { DEFAULT_GC_POLICY, type KubeGenericRuntime } from "../container/generic-runtime.js";
import { NodeObserver } from "./node-observer.js";

/** Mirrors ContainerGCPeriod in pkg/kubelet/kubelet.go. */
export const CONTAINER_GC_PERIOD_MS = 60_000;
/** Mirrors ImageGCPeriod in pkg/kubelet/kubelet.go. */
export const IMAGE_GC_PERIOD_MS = 300_000;

export interface GarbageCollectionDeps {
  readonly containerGc: Pick<ContainerGc, "garbageCollect">;
  /** undefined: images are not collected, as with a high threshold of 100 % */
  readonly imageGc?: { garbageCollect(signal: AbortSignal): Promise<void> };
  readonly agent: { recordEvent(type: "Normal" | "Warning", reason: string, message: string): void };
  readonly clock: Clock;
  readonly trace: Trace;
}

/** Mirrors realContainerGC in pkg/kubelet/container/container_gc.go. */
export class ContainerGc {
  constructor(
    readonly deps: {
      readonly runtime: Pick<KubeGenericRuntime, "garbageCollect">;
      readonly sourcesReady: { allReady(): boolean };
    },
    readonly policy = DEFAULT_GC_POLICY,
  ) {}

  /** Removes dead containers beyond the policy, unused sandboxes and logs of deleted pods. @throws Error */
  garbageCollect(signal: AbortSignal): Promise<void> {
    return this.deps.runtime.garbageCollect(this.policy, this.deps.sourcesReady.allReady(), false, signal);
  }

  /** Removes also the containers of terminated pods that still exist: the node is short of disk space. @throws Error */
  deleteAllUnusedContainers(signal: AbortSignal): Promise<void> {
    return this.deps.runtime.garbageCollect(this.policy, this.deps.sourcesReady.allReady(), true, signal);
  }
}

/**
 * Collects containers once a minute and images every five minutes, until `signal` aborts.
 *
 * Mirrors StartGarbageCollection in pkg/kubelet/kubelet.go. A single failure of the image collection records no event:
 * the file system may not have been measured yet.
 * @throws the signal's reason
 */
export async function startGarbageCollection(deps: GarbageCollectionDeps, signal: AbortSignal): Promise<void> {
  const { containerGc, imageGc } = deps;
  await allUntilOneEnds(signal, [
    (inner) =>
      until(deps, CONTAINER_GC_PERIOD_MS, () => collectContainers(deps, containerGc, inner), inner, {
        what: "remove dead containers",
        setBy: "ContainerGCPeriod",
      }),
    ...(imageGc === undefined ? [] : [(inner: AbortSignal) => collectImages(deps, imageGc, inner)]),
  ]);
}

async function collectContainers(
  { trace, agent }: GarbageCollectionDeps,
  containerGc: GarbageCollectionDeps["containerGc"],
  signal: AbortSignal,
): Promise<void> {
  try {
    await containerGc.garbageCollect(signal);
  } catch (error) {
    signal.throwIfAborted();
    const message = messageOf(error);
    new NodeObserver(trace).containersNotCollected(message);
    agent.recordEvent("Warning", "ContainerGCFailed", message);
  }
}

async function collectImages(
  deps: GarbageCollectionDeps,
  imageGc: NonNullable<GarbageCollectionDeps["imageGc"]>,
  signal: AbortSignal,
): Promise<never> {
  const { trace, agent } = deps;
  let hasFailed = false;
  const round = async () => {
    try {
      await imageGc.garbageCollect(signal);
      hasFailed = false;
    } catch (error) {
      signal.throwIfAborted();
      const message = messageOf(error);
      new NodeObserver(trace).imagesNotCollected(message, hasFailed);
      if (hasFailed) agent.recordEvent("Warning", "ImageGCFailed", message);
      hasFailed = true;
    }
  };
  return until(deps, IMAGE_GC_PERIOD_MS, round, signal, { what: "remove unused images", setBy: "ImageGCPeriod" });
}
