import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { podReferences } from "../../../staging/apimachinery/corev1/pod-references.js";
import { ObjectCache, type ObjectResult } from "./object-cache.js";
import type { ObjectCacheItemDeps, ObjectRef } from "./object-cache-item.js";

/**
 * The ConfigMaps, or the Secrets, that this node's pods reference, cached as long as a pod references them.
 *
 * Mirrors pkg/kubelet/util/manager (cacheBasedManager over the objectCache of NewWatchBasedManager), which
 * configmap_manager.go and secret_manager.go use with `configMapAndSecretChangeDetectionStrategy: Watch`.
 */
export class ObjectManager {
  readonly cache: ObjectCache;
  /** by uid: the references of the pod's last version */
  readonly #registered = new Map<string, ReadonlySet<string>>();

  constructor(
    deps: ObjectCacheItemDeps,
    readonly kind: ObjectRef["kind"],
  ) {
    this.cache = new ObjectCache(deps, kind);
  }

  /** Call for each version of a pod. */
  registerPod(pod: V1Pod): void {
    const { secrets, configMaps } = podReferences(pod);
    const names = this.kind === "secret" ? secrets : configMaps;
    this.#replace(pod, names);
    this.#registered.set(pod.metadata.uid, names);
  }

  unregisterPod(pod: V1Pod): void {
    this.#replace(pod, new Set());
    this.#registered.delete(pod.metadata.uid);
  }

  /** See ObjectCache. @throws the signal's reason */
  get(namespace: string, name: string, signal: AbortSignal): Promise<ObjectResult> {
    return this.cache.get(namespace, name, signal);
  }

  /** Adds new references first, so that an object still in use is never released. */
  #replace({ metadata }: V1Pod, names: ReadonlySet<string>): void {
    const { namespace, uid } = metadata;
    const before = this.#registered.get(uid) ?? new Set();
    for (const name of names) if (!before.has(name)) this.cache.addReference(namespace, name);
    for (const name of before) if (!names.has(name)) this.cache.deleteReference(namespace, name);
  }
}

/** The values of a ConfigMap, or of a Secret (decoded), as text. */
export function textValues(object: KubeObject): ReadonlyMap<string, string> {
  const isSecret = object.kind === "Secret";
  const entries = Object.entries((object["data"] ?? {}) as Readonly<Record<string, string>>);
  return new Map(
    entries.map(([key, value]) => [key, isSecret ? Buffer.from(value, "base64").toString("utf8") : value]),
  );
}

/** The files of a ConfigMap or a Secret, sorted by name. */
export function binaryValues(object: KubeObject): ReadonlyMap<string, Buffer> {
  const { data, binaryData } = object as { readonly data?: Values | null; readonly binaryData?: Values | null };
  const encoding = object.kind === "Secret" ? "base64" : "utf8";
  const entries: [string, Buffer][] = [
    ...Object.entries(data ?? {}).map(([key, value]): [string, Buffer] => [key, Buffer.from(value, encoding)]),
    ...Object.entries(binaryData ?? {}).map(([key, value]): [string, Buffer] => [key, Buffer.from(value, "base64")]),
  ];
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

type Values = Readonly<Record<string, string>>;
