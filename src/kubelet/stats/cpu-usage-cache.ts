import type { ContainerStats } from "../../staging/cri/messages/stats.js";

/** Mirrors defaultCachePeriod. */
const CACHE_PERIOD_NS = 10n * 60n * 1_000_000_000n;

/** The part of a container's statistics that the cache reads. */
interface CpuReading extends Pick<ContainerStats, "cpu"> {
  readonly attributes: { readonly id: string } | undefined;
}

interface CpuUsageRecord {
  readonly atNs: bigint;
  readonly usageCoreNanoSeconds: bigint;
  readonly usageNanoCores: number | undefined;
}

/**
 * The CPU usage of each container per second, from its last two readings, for runtimes that report only sums.
 *
 * Mirrors pkg/kubelet/stats/cri_stats_provider.go (getContainerUsageNanoCores, getAndUpdateContainerUsageNanoCores,
 * cleanupOutdatedCaches).
 */
export class CpuUsageCache {
  readonly #records = new Map<string, CpuUsageRecord>();

  /** how many containers are known */
  get size(): number {
    return this.#records.size;
  }

  /** @returns core nanoseconds per second; undefined before the second reading, and after a sum that went backwards */
  usageNanoCores({ attributes, cpu }: CpuReading): number | undefined {
    if (cpu?.usageNanoCores !== undefined) return Number(cpu.usageNanoCores.value);
    return this.#records.get(attributes?.id ?? "")?.usageNanoCores;
  }

  /** Keeps a reading. */
  update({ attributes, cpu }: CpuReading): void {
    const sum = cpu?.usageCoreNanoSeconds?.value;
    if (attributes === undefined || cpu === undefined || sum === undefined) return;
    const before = this.#records.get(attributes.id);
    const atNs = cpu.timestamp;
    if (before !== undefined && atNs <= before.atNs) return;
    const usageNanoCores =
      before === undefined || sum < before.usageCoreNanoSeconds
        ? undefined
        : Math.floor((Number(sum - before.usageCoreNanoSeconds) / Number(atNs - before.atNs)) * 1e9);
    this.#records.set(attributes.id, { atNs, usageCoreNanoSeconds: sum, usageNanoCores });
  }

  /** Forgets containers without a reading in the ten minutes before the newest one. */
  cleanUp(): void {
    let newestNs = 0n;
    for (const { atNs } of this.#records.values()) if (atNs > newestNs) newestNs = atNs;
    for (const [id, { atNs }] of this.#records) if (atNs < newestNs - CACHE_PERIOD_NS) this.#records.delete(id);
  }
}
