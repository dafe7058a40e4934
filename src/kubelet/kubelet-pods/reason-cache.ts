import { remember } from "../../util/collections/lru.js";
import type { PodSyncResult, SyncErrorReason } from "../container/sync-result.js";

/** Why a container could not be started, as the API shows it for a waiting container. Mirrors ReasonItem. */
export interface ReasonItem {
  readonly reason: SyncErrorReason;
  readonly message: string;
}

/**
 * Why containers could not be started at the last attempt: the runtime knows nothing of a container that it never
 * created.
 *
 * Mirrors pkg/kubelet/reason_cache.go (ReasonCache).
 * Differs: holds 4096 containers, upstream a thousand: both evict the oldest.
 */
export class ReasonCache {
  readonly #items = new Map<string, ReasonItem>();

  /** Records the results of a sync: a failed start is stored, a successful one removed. Other actions do not count. */
  update(podUid: string, { syncResults }: PodSyncResult): void {
    for (const { action, target, error, message = "" } of syncResults) {
      if (action !== "StartContainer") continue;
      const key = keyOf(podUid, target);
      if (error === undefined) this.#items.delete(key);
      else remember(this.#items, key, { reason: error, message });
    }
  }

  get(podUid: string, containerName: string): ReasonItem | undefined {
    return this.#items.get(keyOf(podUid, containerName));
  }
}

/** The key in upstream's form: `uid_name`. */
function keyOf(podUid: string, containerName: string): string {
  return `${podUid}_${containerName}`;
}
