import { PROVISIONED_BY, type Volume } from "../../../../staging/component-helpers/storage/volume.js";

/** Why a released volume cannot be reclaimed, as its Event and its status show it. */
export interface ReclaimFailure {
  readonly reason: "VolumeFailedDelete" | "VolumeFailedRecycle" | "VolumeUnknownReclaimPolicy";
  readonly message: string;
}

/**
 * Reclaims a volume whose claim is gone: the provisioner that made it deletes it by itself, and one that is retained waits
 * for its administrator. No other volume can be deleted or recycled here, as with upstream's controller without cloud plugins.
 *
 * Mirrors reclaimVolume, deleteVolumeOperation and recycleVolumeOperation in pv_controller.go, with the words of the deleter of
 * hostPath volumes. Differs: upstream's controller removes a folder below /tmp on its own machine, which is the learner's here.
 */
export function reclaim({ metadata, spec }: Volume): ReclaimFailure | undefined {
  const policy = spec?.persistentVolumeReclaimPolicy ?? "Retain";
  if (policy === "Retain") return undefined;
  if (policy === "Recycle")
    return { reason: "VolumeFailedRecycle", message: "No recycler plugin found for the volume!" };
  if (policy !== "Delete")
    return { reason: "VolumeUnknownReclaimPolicy", message: "Volume has unrecognized reclaim policy!" };
  if (metadata.annotations?.[PROVISIONED_BY] !== undefined) return undefined;
  const path = spec?.hostPath?.path;
  const why =
    path === undefined || path.startsWith("/tmp/")
      ? "no deletable volume plugin matched"
      : `host_path deleter only supports /tmp/.+ but received provided ${path}`;
  return { reason: "VolumeFailedDelete", message: why };
}
