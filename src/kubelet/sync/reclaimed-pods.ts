import type { V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
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
 * Deletes a pod from the API as soon as the runtime has nothing of it any more.
 *
 * Differs: in v1.25 the status manager finds out only with its next batch, up to 10 s later, which is long for a user
 * who waits for `kubectl delete`.
 */
export class ReclaimedPods {
  #isLooking = false;
  #isWanted = false;

  constructor(
    readonly deps: ReclaimedPodsDeps,
    readonly signal: AbortSignal,
  ) {}

  /** Records that a container or sandbox of this pod is gone. */
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
