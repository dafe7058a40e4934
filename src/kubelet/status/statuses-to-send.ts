import type { UidTranslations } from "../pod/pod-manager.js";
import type { StatusWriter, VersionedPodStatus } from "./status-writer.js";

/** A version of a pod's status for the API server. */
export interface SyncRequest {
  readonly podUid: string;
  readonly status: VersionedPodStatus;
}

/**
 * The statuses that the API server does not have. Forgets what was sent of pods that are gone, and of those whose status another
 * client has changed.
 * Mirrors syncBatch in pkg/kubelet/status/status_manager.go.
 */
export function statusesToSend(
  statuses: ReadonlyMap<string, VersionedPodStatus>,
  writer: StatusWriter,
  { podToMirror, mirrorToPod }: UidTranslations,
): (SyncRequest & { readonly isSent: boolean })[] {
  for (const apiUid of writer.versions.keys()) {
    if (!statuses.has(apiUid) && !mirrorToPod.has(apiUid)) writer.forget(apiUid);
  }
  const requests: (SyncRequest & { readonly isSent: boolean })[] = [];
  for (const [podUid, status] of statuses) {
    const apiUid = apiUidOf(podToMirror, podUid);
    // A static pod without a mirror pod: the API has no object to update.
    if (apiUid === undefined) continue;
    const isSent = writer.isSent(apiUid, status);
    if (writer.needsUpdate(apiUid, status)) requests.push({ podUid, status, isSent });
    else if (writer.needsReconcile(podUid, status.status)) {
      writer.forget(apiUid);
      requests.push({ podUid, status, isSent });
    }
  }
  return requests;
}

/** The UID of the pod's object in the API; undefined: a static pod without a mirror pod. */
export function apiUidOf(podToMirror: UidTranslations["podToMirror"], podUid: string): string | undefined {
  return podToMirror.has(podUid) ? podToMirror.get(podUid) : podUid;
}
