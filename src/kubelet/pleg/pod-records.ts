import type { Pod } from "../container/runtime.js";

/** What is known of one pod: as last told to the pod workers, and as just listed. */
export interface PodRecord {
  readonly podUid: string;
  /** undefined: nothing has been told of this pod yet */
  old: Pod | undefined;
  /** undefined: not in the list of this relist */
  current: Pod | undefined;
}

/**
 * Pods before and after a relist. Mirrors podRecords in pkg/kubelet/pleg/generic.go.
 * Differs: a pod that went before anything was told of it is dropped; upstream keeps the empty record for good.
 */
export class PodRecords {
  readonly #records = new Map<string, PodRecord>();

  get size(): number {
    return this.#records.size;
  }

  /** Takes a new list. Where a uid occurs twice, the later pod counts. Mirrors setCurrent. */
  setCurrent(pods: readonly Pod[]): void {
    for (const record of this.#records.values()) record.current = undefined;
    for (const pod of pods) {
      const record = this.#records.get(pod.podUid);
      if (record === undefined) this.#records.set(pod.podUid, { podUid: pod.podUid, old: undefined, current: pod });
      else record.current = pod;
    }
    for (const { podUid, old, current } of this.#records.values()) {
      if (old === undefined && current === undefined) this.#records.delete(podUid);
    }
  }

  values(): IterableIterator<PodRecord> {
    return this.#records.values();
  }

  /** The listed pod becomes the known one: its changes have been dealt with. Mirrors update. */
  update(record: PodRecord): void {
    if (record.current === undefined) this.#records.delete(record.podUid);
    else record.old = record.current;
    record.current = undefined;
  }
}
