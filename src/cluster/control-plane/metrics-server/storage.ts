import { canonicalQuantity } from "../../../staging/apimachinery/quantity.js";
import type { MetricsBatch, MetricsPoint } from "./decode.js";

/** CPU and memory as quantities: `156340n`, `1Mi`. */
export interface ResourceUsage {
  readonly cpu: string;
  readonly memory: string;
}

/** Usage with the interval in which it was measured. Mirrors TimeInfo in pkg/api/interfaces.go of metrics-server. */
export interface Measured<T> {
  /** Unix ms */
  readonly timestampMs: number;
  readonly windowMs: number;
  readonly usage: T;
}

export interface ContainerUsage {
  readonly name: string;
  readonly usage: ResourceUsage;
}

type Points = ReadonlyMap<string, MetricsPoint>;

/** A younger container's usage is too inaccurate. Mirrors freshContainerMinMetricsResolution. */
const FRESH_CONTAINER_MIN_MS = 10_000;

/**
 * The last two readings of each node and container. Usage is the difference between them.
 *
 * Mirrors pkg/storage of metrics-server (storage.go, node.go, pod.go).
 */
export class MetricsStorage {
  #last: MetricsBatch = EMPTY;
  #prev: MetricsBatch = EMPTY;

  /** @param resolutionMs the time between two readings */
  constructor(readonly resolutionMs: number) {}

  /** Keeps a reading. Nodes and pods that it does not have are forgotten. */
  store(batch: MetricsBatch): void {
    const nodes = this.#previousOf(batch.nodes, this.#last.nodes, this.#prev.nodes);
    const pods = new Map<string, Points>();
    for (const [key, containers] of batch.pods) {
      const previous = this.#previousOf(containers, this.#last.pods.get(key), this.#prev.pods.get(key), true);
      if (previous.size > 0) pods.set(key, previous);
    }
    this.#prev = { nodes, pods };
    this.#last = batch;
  }

  /** The reading before the last one, per node or container. @param areContainers containers start and restart */
  #previousOf(points: Points, last: Points = NONE, prev: Points = NONE, areContainers = false): Points {
    const previous = new Map<string, MetricsPoint>();
    for (const [name, point] of points) {
      const ageMs = point.timestampMs - point.startTimeMs;
      const stored = last.get(name);
      const before = prev.get(name);
      if (areContainers && ageMs >= FRESH_CONTAINER_MIN_MS && ageMs < this.resolutionMs) {
        // It had used nothing when it started.
        previous.set(name, { ...point, timestampMs: point.startTimeMs, cumulativeCpuUsed: 0 });
      } else if (stored === undefined || (areContainers && point.startTimeMs >= stored.timestampMs)) {
        // New, or restarted since the last reading.
      } else if (point.timestampMs > stored.timestampMs) previous.set(name, stored);
      else if (before !== undefined && before.timestampMs < point.timestampMs) previous.set(name, before);
    }
    return previous;
  }

  /** @returns undefined for a node without two readings */
  node(name: string): Measured<ResourceUsage> | undefined {
    return resourceUsage(this.#last.nodes.get(name), this.#prev.nodes.get(name));
  }

  /** @returns undefined for a pod with a container that has no two readings */
  pod(key: string): Measured<readonly ContainerUsage[]> | undefined {
    const last = this.#last.pods.get(key);
    const prev = this.#prev.pods.get(key);
    if (last === undefined || prev === undefined) return undefined;
    const usage: ContainerUsage[] = [];
    let earliest: Measured<unknown> | undefined;
    for (const [name, point] of last) {
      const before = prev.get(name);
      if (before === undefined) return undefined;
      const measured = resourceUsage(point, before);
      if (measured === undefined) continue;
      usage.push({ name, usage: measured.usage });
      if (earliest === undefined || earliest.timestampMs > measured.timestampMs) earliest = measured;
    }
    if (earliest === undefined) return undefined;
    return { timestampMs: earliest.timestampMs, windowMs: earliest.windowMs, usage };
  }
}

const NONE: Points = new Map();
const EMPTY: MetricsBatch = { nodes: NONE, pods: new Map() };

/** Mirrors resourceUsage in pkg/storage/types.go. @returns undefined if a figure went backwards */
function resourceUsage(
  last: MetricsPoint | undefined,
  prev: MetricsPoint | undefined,
): Measured<ResourceUsage> | undefined {
  if (last === undefined || prev === undefined) return undefined;
  if (last.startTimeMs < prev.startTimeMs || last.cumulativeCpuUsed < prev.cumulativeCpuUsed) return undefined;
  const windowMs = last.timestampMs - prev.timestampMs;
  const nanoCores = Math.trunc(((last.cumulativeCpuUsed - prev.cumulativeCpuUsed) / windowMs) * 1000);
  const { memoryBytes, timestampMs } = last;
  const usage = { cpu: canonicalQuantity(`${nanoCores}n`) ?? "0", memory: binaryQuantity(memoryBytes) };
  return { timestampMs, windowMs, usage };
}

/** Canonical text in the format BinarySI. */
function binaryQuantity(bytes: number): string {
  if (bytes < 1024 || bytes % 1024 !== 0) return String(bytes);
  return canonicalQuantity(`${bytes / 1024}Ki`) ?? String(bytes);
}
