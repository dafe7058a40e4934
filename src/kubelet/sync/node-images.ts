import type { Trace } from "../../trace/trace.js";
import { until } from "../../trace/until.js";
import type { Clock } from "../../util/clock.js";
import type { RuntimeImage } from "../container/generic-runtime.js";
import type { NodeImage } from "../nodestatus/setters.js";

/** How often the images are read from the runtime. Upstream fills imageCache every 30 s (pkg/kubelet/images/image_gc_manager.go). */
const IMAGES_PERIOD_MS = 30_000;
/** Mirrors MaxNamesPerImageInNodeStatus in pkg/kubelet/nodestatus/setters.go. */
const MAX_NAMES_PER_IMAGE = 5;

export interface NodeImagesDeps {
  readonly runtime: { listImages(signal: AbortSignal): Promise<readonly RuntimeImage[]> };
  readonly clock: Clock;
  readonly trace: Trace;
}

/** The images in the node's status: the scheduler prefers nodes that have a pod's image. Mirrors realImageGCManager's imageCache. */
export class NodeImages {
  #list: readonly NodeImage[] = [];

  /** @param maxImages nodeStatusMaxImages; -1: no limit */
  constructor(
    readonly deps: NodeImagesDeps,
    readonly maxImages: number,
  ) {}

  get list(): readonly NodeImage[] {
    return this.#list;
  }

  /** Reads the images every 30 s, until `signal` aborts: then it rejects with its reason. */
  run(signal: AbortSignal): Promise<never> {
    return until(this.deps, IMAGES_PERIOD_MS, () => this.update(signal), signal, {
      what: "report the images",
      setBy: "node images period",
    });
  }

  async update(signal: AbortSignal): Promise<void> {
    try {
      this.#list = toNodeImages(await this.deps.runtime.listImages(signal), this.maxImages);
    } catch {
      // Keeps the last list; other callers report that the runtime does not answer.
      signal.throwIfAborted();
    }
  }
}

/** Mirrors Images in pkg/kubelet/nodestatus/setters.go. Pure. */
export function toNodeImages(images: readonly RuntimeImage[], maxImages: number): NodeImage[] {
  return [...images]
    .sort((a, b) => b.sizeBytes - a.sizeBytes)
    .slice(0, maxImages === -1 ? undefined : maxImages)
    .map(({ repoDigests, repoTags, sizeBytes }) => ({
      names: [...repoDigests, ...repoTags].slice(0, MAX_NAMES_PER_IMAGE),
      sizeBytes,
    }));
}
