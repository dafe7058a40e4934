/** The usage of a machine at one moment. */
export interface MachineReading {
  /** since the start, over all cores */
  readonly coreNanoSeconds: number;
  readonly memoryBytes: number;
  /** the machine's capacity; undefined: as the node reports it */
  readonly memoryCapacityBytes?: number;
  /** tasks (without those of pods, if pods are no part of the reading), and how many the machine can have; undefined: not measured */
  readonly processes?: { readonly count: number; readonly max: number };
}

/** The usage of the node's machine. Mirrors the part of pkg/kubelet/cadvisor/types.go (Interface) that reads the root container. */
export interface MachineUsage {
  /** whether pods are part of a reading: true for a real machine */
  readonly includesPods: boolean;
  read(): MachineReading;
}

/** The CPU time of all containers that ever ran, from the sums of those that run: it never goes backwards. */
export class PodsCpuTime {
  #endedNanoSeconds = 0;
  #last: ReadonlyMap<string, number> = new Map();

  /** @param usageOfContainer core nanoseconds of each running container, by ID @returns core nanoseconds */
  add(usageOfContainer: ReadonlyMap<string, number>): number {
    for (const [id, before] of this.#last) {
      const now = usageOfContainer.get(id);
      // The container ended, or its runtime counts from 0 again.
      if (now === undefined || now < before) this.#endedNanoSeconds += before;
    }
    this.#last = new Map(usageOfContainer);
    let total = this.#endedNanoSeconds;
    for (const nanoSeconds of usageOfContainer.values()) total += nanoSeconds;
    return total;
  }
}
