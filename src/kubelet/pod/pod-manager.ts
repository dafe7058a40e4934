import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { isMirrorPod, MIRROR_POD_ANNOTATION } from "../../staging/apimachinery/corev1/pod-references.js";
import { CONFIG_HASH_ANNOTATION, getPodFullName, isStaticPod } from "../types/pod-update.js";

/** Maps between the uids of static pods and their mirror pods. */
export interface UidTranslations {
  /** undefined: the static pod has no mirror pod (yet) */
  readonly podToMirror: ReadonlyMap<string, string | undefined>;
  readonly mirrorToPod: ReadonlyMap<string, string>;
}

/**
 * The pods that this node should run, and which mirror pod belongs to which static pod.
 *
 * A static pod and its mirror pod have the same full name and different uids. API clients may use either uid; inside
 * the kubelet the static pod's uid counts.
 *
 * Mirrors pkg/kubelet/pod/pod_manager.go (basicManager).
 */
export class PodManager {
  readonly #podByUid = new Map<string, V1Pod>();
  readonly #mirrorPodByUid = new Map<string, V1Pod>();
  readonly #podByFullName = new Map<string, V1Pod>();
  readonly #mirrorPodByFullName = new Map<string, V1Pod>();
  readonly #translationByUid = new Map<string, string>();

  addPod(pod: V1Pod): void {
    this.updatePod(pod);
  }

  updatePod(pod: V1Pod): void {
    const { uid } = pod.metadata;
    const fullName = getPodFullName(pod);
    if (isMirrorPod(pod)) {
      this.#mirrorPodByUid.set(uid, pod);
      this.#mirrorPodByFullName.set(fullName, pod);
      const own = this.#podByFullName.get(fullName);
      if (own !== undefined) this.#translationByUid.set(uid, own.metadata.uid);
    } else {
      this.#podByUid.set(uid, pod);
      this.#podByFullName.set(fullName, pod);
      const mirror = this.#mirrorPodByFullName.get(fullName);
      if (mirror !== undefined) this.#translationByUid.set(mirror.metadata.uid, uid);
    }
  }

  /** Mirrors DeletePod; in later releases RemovePod. */
  deletePod(pod: V1Pod): void {
    const { uid } = pod.metadata;
    const fullName = getPodFullName(pod);
    if (isMirrorPod(pod)) {
      this.#mirrorPodByUid.delete(uid);
      this.#mirrorPodByFullName.delete(fullName);
      this.#translationByUid.delete(uid);
    } else {
      this.#podByUid.delete(uid);
      this.#podByFullName.delete(fullName);
    }
  }

  /** Replaces all pods. */
  setPods(pods: readonly V1Pod[]): void {
    this.#podByUid.clear();
    this.#mirrorPodByUid.clear();
    this.#podByFullName.clear();
    this.#mirrorPodByFullName.clear();
    this.#translationByUid.clear();
    for (const pod of pods) this.updatePod(pod);
  }

  /** All pods except mirror pods. */
  getPods(): V1Pod[] {
    return [...this.#podByUid.values()];
  }

  getPodsAndMirrorPods(): { readonly pods: V1Pod[]; readonly mirrorPods: V1Pod[] } {
    return { pods: this.getPods(), mirrorPods: [...this.#mirrorPodByUid.values()] };
  }

  getPodByUid(podUid: string): V1Pod | undefined {
    return this.#podByUid.get(podUid);
  }

  getPodByFullName(podFullName: string): V1Pod | undefined {
    return this.#podByFullName.get(podFullName);
  }

  getPodByName(namespace: string, name: string): V1Pod | undefined {
    return this.getPodByFullName(`${name}_${namespace}`);
  }

  getMirrorPodByPod(pod: V1Pod): V1Pod | undefined {
    return this.#mirrorPodByFullName.get(getPodFullName(pod));
  }

  getPodByMirrorPod(mirrorPod: V1Pod): V1Pod | undefined {
    return this.#podByFullName.get(getPodFullName(mirrorPod));
  }

  /** The static pod's uid for a mirror pod's; any other uid stays as it is. Mirrors TranslatePodUID. */
  translatePodUid(podUid: string): string {
    return this.#translationByUid.get(podUid) ?? podUid;
  }

  /** Mirrors GetUIDTranslations. */
  getUidTranslations(): UidTranslations {
    const podToMirror = new Map<string, string | undefined>();
    for (const [uid, pod] of this.#podByUid) if (isStaticPod(pod)) podToMirror.set(uid, undefined);
    for (const [mirrorUid, uid] of this.#translationByUid) podToMirror.set(uid, mirrorUid);
    return { podToMirror, mirrorToPod: new Map(this.#translationByUid) };
  }

  /** Full names of mirror pods without a static pod. */
  getOrphanedMirrorPodNames(): string[] {
    return [...this.#mirrorPodByFullName.keys()].filter((fullName) => !this.#podByFullName.has(fullName));
  }
}

/** Reports whether the mirror pod matches the current static pod. Mirrors IsMirrorPodOf. */
export function isMirrorPodOf(mirrorPod: V1Pod, pod: V1Pod): boolean {
  if (getPodFullName(mirrorPod) !== getPodFullName(pod)) return false;
  const hash = mirrorPod.metadata.annotations?.[MIRROR_POD_ANNOTATION];
  return hash !== undefined && hash === (pod.metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? "");
}
