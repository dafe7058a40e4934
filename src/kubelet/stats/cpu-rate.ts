import type { CpuStats } from "../apis/stats/v1alpha1.js";

/** The CPU usage of a system container per second, from its last two readings. */
export class CpuRate {
  #before: { readonly atMs: number; readonly coreNanoSeconds: number } | undefined;
  #usageNanoCores: number | undefined;

  /**
   * @param coreNanoSeconds the sum at `timeMs`
   * @param updateStats keeps this reading for the next one; without it the usage per second stays as it was
   */
  statsOf(timeMs: number, coreNanoSeconds: number, updateStats: boolean): CpuStats {
    const before = this.#before;
    if (updateStats && (before === undefined || timeMs > before.atMs)) {
      const rate = before && Math.floor(((coreNanoSeconds - before.coreNanoSeconds) / (timeMs - before.atMs)) * 1000);
      this.#usageNanoCores = rate === undefined || rate < 0 ? undefined : rate;
      this.#before = { atMs: timeMs, coreNanoSeconds };
    }
    const known = this.#usageNanoCores === undefined ? {} : { usageNanoCores: this.#usageNanoCores };
    return { timeMs, ...known, usageCoreNanoSeconds: coreNanoSeconds };
  }
}
