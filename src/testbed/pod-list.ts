import type { Kubelet } from "../kubelet/kubelet.js";
import { CONFIG_HASH_ANNOTATION, getPodSource, isStaticPod, podText } from "../kubelet/types/pod-update.js";
import type { V1Pod } from "../staging/apimachinery/api/pod.js";

/** One pod of a kubelet's pod manager, with its phase from the status manager. */
export interface ListedPod {
  /** `namespace/name` */
  readonly pod: string;
  readonly uid: string;
  readonly kind: "regular" | "static";
  /** `api`, `file`, `http` */
  readonly source: string;
  readonly phase: string;
  /** null: the pod has no mirror pod */
  readonly mirrorUid: string | null;
  /** the mirror pod shows the static pod as it is now */
  readonly isMirrorUpToDate: boolean | null;
}

/** Lists the pods of a kubelet by name, each with its mirror pod. */
export function listPods({ podManager, statusManager }: Kubelet): ListedPod[] {
  return podManager
    .getPods()
    .map((pod): ListedPod => {
      const mirror = isStaticPod(pod) ? podManager.getMirrorPodByPod(pod) : undefined;
      const { uid } = pod.metadata;
      return {
        pod: podText(pod),
        uid,
        kind: isStaticPod(pod) ? "static" : "regular",
        source: getPodSource(pod) ?? "api",
        phase: (statusManager.getPodStatus(uid) ?? pod.status).phase || "Pending",
        mirrorUid: mirror?.metadata.uid ?? null,
        isMirrorUpToDate: mirror === undefined ? null : hashOf(mirror) === hashOf(pod),
      };
    })
    .sort((a, b) => (a.pod < b.pod ? -1 : 1));
}

/** Returns the newest pod of this kind. */
export function newestPod({ podManager }: Kubelet, kind: "regular" | "mirror"): V1Pod | undefined {
  const { pods, mirrorPods } = podManager.getPodsAndMirrorPods();
  return kind === "mirror" ? mirrorPods.at(-1) : pods.filter((pod) => !isStaticPod(pod)).at(-1);
}

/** The beginning of a UID, for a table. */
export function shortUid(uid: string | null): string {
  return uid === null ? "-" : uid.slice(0, UID_SHOWN);
}
const UID_SHOWN = 8;

function hashOf({ metadata }: V1Pod): string {
  return metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? "";
}
