import type { V1Pod } from "../apimachinery/api/pod.js";
import type { Kubelet } from "../kubelet/kubelet.js";
import { CONFIG_HASH_ANNOTATION, getPodSource, isStaticPod, podText } from "../kubelet/types/pod-update.js";

/** One pod of a kubelet as its pod manager has it, with what the status manager says of it. */
export interface ListedPod {
  /** `namespace/name` */
  readonly pod: string;
  readonly uid: string;
  readonly kind: "regular" | "static";
  /** `api`, `file`, `http` */
  readonly source: string;
  readonly phase: string;
  /** of a static pod; null: it has no mirror pod (yet) */
  readonly mirrorUid: string | null;
  /** the mirror pod shows the static pod as it is now */
  readonly isMirrorUpToDate: boolean | null;
}

/** The pods that the kubelet should have, each with its mirror pod, by name. */
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

/** The pod of this kind that was added last. */
export function newestPod({ podManager }: Kubelet, kind: "regular" | "mirror"): V1Pod | undefined {
  const { pods, mirrorPods } = podManager.getPodsAndMirrorPods();
  return kind === "mirror" ? mirrorPods.at(-1) : pods.filter((pod) => !isStaticPod(pod)).at(-1);
}

/** A UID in a column. */
export function shortUid(uid: string | null): string {
  return uid === null ? "-" : uid.slice(0, UID_SHOWN);
}
const UID_SHOWN = 8;

/** `1 pod`, `2 pods` */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function hashOf({ metadata }: V1Pod): string {
  return metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? "";
}
