import type { Trace } from "../../trace/trace.js";
import { until } from "../../trace/until.js";
import { Mutex } from "../../util/async/mutex.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import type { RuntimeImage } from "../container/generic-runtime.js";
import { ImageGcObserver } from "./image-gc-observer.js";
import { amountToFree, type ImageGcPolicy, type ImageRecord, inEvictionOrder, whyKept } from "./image-gc-policy.js";

/** How often new images and their use are recorded. Mirrors Start. */
const DETECT_PERIOD_MS = 300_000;
/** The image of sandboxes, in any version: `registry.k8s.io/pause:3.8`. */
const SANDBOX_IMAGE = /(^|\/)pause(:[^/]*)?$/;

export interface ImageGcDeps {
  readonly runtime: {
    listImages(signal: AbortSignal): Promise<readonly RuntimeImage[]>;
    /** the IDs of the images of all containers, dead ones included */
    listUsedImages(signal: AbortSignal): Promise<readonly string[]>;
    removeImage(imageId: string, signal: AbortSignal): Promise<void>;
  };
  /** Mirrors StatsProvider. @throws when the file system cannot be measured */
  readonly imageFsStats: (
    signal: AbortSignal,
  ) => Promise<{ readonly capacityBytes?: number; readonly availableBytes?: number }>;
  readonly agent: { recordEvent(type: "Normal" | "Warning", reason: string, message: string): void };
  readonly clock: Clock;
  readonly trace: Trace;
}

/**
 * Removes images that no container uses when their file system is nearly full, the least recently used ones first.
 *
 * Mirrors realImageGCManager in pkg/kubelet/images/image_gc_manager.go. sync/node-images.ts has its imageCache.
 * Differs: every image named pause counts as used. Upstream knows the runtime's from `--pod-infra-container-image`.
 */
export class ImageGcManager {
  readonly #records = new Map<string, ImageRecord>();
  readonly #mutex = new Mutex();
  readonly #observer: ImageGcObserver;
  #isInitialized = false;

  constructor(
    readonly deps: ImageGcDeps,
    readonly policy: ImageGcPolicy,
  ) {
    this.#observer = new ImageGcObserver(deps.trace);
  }

  /** Records images and their use every 5 min, until `signal` aborts: then it rejects with its reason. Mirrors Start. */
  run(signal: AbortSignal): Promise<never> {
    const { clock } = this.deps;
    const round = async () => {
      try {
        // The first images are older than this kubelet.
        await this.#mutex.run(() => this.#detectImages(this.#isInitialized ? clock.now() : 0, signal));
        this.#isInitialized = true;
      } catch (error) {
        signal.throwIfAborted();
        this.#observer.notDetected(error);
      }
    };
    return until(this.deps, DETECT_PERIOD_MS, round, signal, { what: "list the images", setBy: "detect period" });
  }

  /**
   * Frees space if usage is above the high threshold.
   * @throws Error in upstream's words when the file system cannot be measured or stays too full
   */
  async garbageCollect(signal: AbortSignal): Promise<void> {
    const { imageFsStats, agent, clock } = this.deps;
    const { capacityBytes = 0, availableBytes = 0 } = await imageFsStats(signal);
    if (capacityBytes === 0) {
      const message = "invalid capacity 0 on image filesystem";
      agent.recordEvent("Warning", "InvalidDiskCapacity", message);
      throw new Error(message);
    }
    const amount = amountToFree(this.policy, capacityBytes, Math.min(availableBytes, capacityBytes));
    if (amount === undefined) return;
    const { usagePercent, bytes } = amount;
    this.#observer.frees(bytes, usagePercent, this.policy);
    const freed = await this.#freeSpace(bytes, clock.now(), signal);
    if (freed >= bytes) return;
    const wanted = `Wanted to free ${bytes} bytes, but freed ${freed} bytes`;
    const message = `failed to garbage collect required amount of images. ${wanted}`;
    agent.recordEvent("Warning", "FreeDiskSpaceFailed", message);
    throw new Error(message);
  }

  /** Removes every image that may be removed, for a node under disk pressure. @throws Error with what was not removed */
  async deleteUnusedImages(signal: AbortSignal): Promise<void> {
    await this.#freeSpace(Number.MAX_SAFE_INTEGER, this.deps.clock.now(), signal);
  }

  /** @returns the bytes that were freed. @throws Error when an image was not removed */
  #freeSpace(bytesToFree: number, freeTimeMs: number, signal: AbortSignal): Promise<number> {
    return this.#mutex.run(async () => {
      const inUse = await this.#detectImages(freeTimeMs, signal);
      const errors: string[] = [];
      let freed = 0;
      for (const record of inEvictionOrder(this.#records.values(), inUse)) {
        const kept = whyKept(record, freeTimeMs, this.policy.minAgeMs);
        if (kept !== undefined) {
          this.#observer.keeps(record, kept);
          continue;
        }
        this.#observer.removes(record, freed);
        try {
          await this.deps.runtime.removeImage(record.imageId, signal);
        } catch (error) {
          signal.throwIfAborted();
          errors.push(messageOf(error));
          continue;
        }
        this.#records.delete(record.imageId);
        freed += record.sizeBytes;
        if (freed >= bytesToFree) break;
      }
      if (errors.length === 0) return freed;
      const list = errors.length === 1 ? errors[0] : `[${errors.join(", ")}]`;
      const wanted = `wanted to free ${bytesToFree} bytes, but freed ${freed} bytes space`;
      throw new Error(`${wanted} with errors in image deletion: ${list}`);
    });
  }

  /** @returns the IDs of images in use. @throws the runtime's error */
  async #detectImages(detectTimeMs: number, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { runtime, clock } = this.deps;
    const images = await runtime.listImages(signal);
    const sandboxImages = images.filter(({ repoTags }) => repoTags.some((tag) => SANDBOX_IMAGE.test(tag)));
    const inUse = new Set([...(await runtime.listUsedImages(signal)), ...sandboxImages.map(({ id }) => id)]);
    const nowMs = clock.now();
    for (const { id: imageId, sizeBytes, pinned: isPinned } of images) {
      const before = this.#records.get(imageId) ?? { firstDetectedMs: detectTimeMs, lastUsedMs: 0 };
      const lastUsedMs = inUse.has(imageId) ? nowMs : before.lastUsedMs;
      this.#records.set(imageId, { ...before, imageId, sizeBytes, isPinned, lastUsedMs });
    }
    const present = new Set(images.map(({ id }) => id));
    for (const imageId of this.#records.keys()) if (!present.has(imageId)) this.#records.delete(imageId);
    return inUse;
  }
}
