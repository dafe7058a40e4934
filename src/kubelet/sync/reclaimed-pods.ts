import type { V1Pod, V1PodStatus } from "../../apimachinery/api/pod.js";
import type { PodDeletionSafetyProvider } from "../status/status-writer.js";

export interface ReclaimedPodsDeps {
  readonly podManager: { getPodByUid(podUid: string): V1Pod | undefined };
  readonly podDeletionSafety: Pick<PodDeletionSafetyProvider, "podResourcesAreReclaimed">;
  readonly statusManager: {
    getPodStatus(podUid: string): V1PodStatus | undefined;
    syncBatch(signal: AbortSignal): Promise<void>;
  };
}

/**
 * Takes a deleted pod out of the API as soon as the last of it is gone from the runtime.
 *
 * Differs: in v1.25 nobody tells the status manager, which finds out when it next looks through all statuses, up to 10 s
 * later; for whoever waits for `kubectl delete` that is long.
 */
export class ReclaimedPods {
  #isLooking = false;
  #isWanted = false;

  constructor(
    readonly deps: ReclaimedPodsDeps,
    readonly signal: AbortSignal,
  ) {}

  /** Something of this pod has gone. */
  look(podUid: string): void {
    const { podManager, podDeletionSafety, statusManager } = this.deps;
    const pod = podManager.getPodByUid(podUid);
    const status = statusManager.getPodStatus(podUid);
    const deleted = pod?.metadata.deletionTimestamp;
    if (pod === undefined || status === undefined || deleted === undefined || deleted === null) return;
    if (!podDeletionSafety.podResourcesAreReclaimed(pod, status)) return;
    this.#isWanted = true;
    if (!this.#isLooking) void this.#sync();
  }

  async #sync(): Promise<void> {
    this.#isLooking = true;
    try {
      while (this.#isWanted && !this.signal.aborted) {
        this.#isWanted = false;
        await this.deps.statusManager.syncBatch(this.signal);
      }
    } catch (error) {
      // Only an abort is thrown: the kubelet ends.
      if (!this.signal.aborted) throw error;
    } finally {
      this.#isLooking = false;
    }
  }
}
