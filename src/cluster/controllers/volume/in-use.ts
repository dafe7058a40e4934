import type { PodObject } from "../../../staging/apimachinery/api/objects.js";
import { type Claim, claimNameOf } from "../../../staging/component-helpers/storage/volume.js";

/** Reports whether one of the pod's volumes is this claim. Mirrors podUsesPVC in pkg/controller/volume/pvcprotection. */
export function usesClaim(pod: PodObject, { metadata }: Claim): boolean {
  if (pod.metadata.namespace !== metadata.namespace) return false;
  return (pod.spec?.volumes ?? []).some((volume) => claimNameOf(pod, volume)?.name === metadata.name);
}
