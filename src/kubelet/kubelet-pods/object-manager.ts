import type { KubeObject } from "../../api/meta.js";
import type { V1Pod } from "../../api/pod.js";
import { isSuccess, statusMessage } from "../../client/answers.js";
import type { KubeClient, KubeResponse } from "../../client/client.js";
import { objectPath } from "../../client/paths.js";
import type { Clock } from "../../util/clock.js";
import { isAbortError, LabError } from "../../util/errors.js";
import { referencedConfigMaps, referencedSecrets } from "./references.js";

/** What is older is asked for again. Mirrors defaultTTL in pkg/kubelet/util/manager/cache_based_manager.go. */
export const OBJECT_TTL_MS = 60_000;

/** What asking for a ConfigMap or Secret brought. */
export type ObjectResult =
  | { readonly outcome: "ok"; readonly object: KubeObject }
  | { readonly outcome: "not-found" | "failed"; readonly message: string };

export interface ObjectManagerDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
}

export interface ObjectManagerOptions {
  readonly kind: "configmap" | "secret";
  /** ms; default one minute */
  readonly ttlMs?: number;
}

interface Entry {
  /** pods that name the object */
  readonly podUids: Set<string>;
  /** Unix ms at which the latest good answer was asked for */
  fetchedMs?: number;
  result?: ObjectResult;
  pending?: Promise<ObjectResult>;
  /** grows when a pod needs what holds now: an answer that was asked for before is too old for it */
  generation: number;
}

/**
 * The ConfigMaps, or the Secrets, that pods of this node name: read when they are needed, and again when they have grown
 * old. What no pod of this node names is not kept.
 *
 * Mirrors pkg/kubelet/util/manager/cache_based_manager.go (cacheBasedManager, objectStore), which configmap_manager.go and
 * secret_manager.go stand on.
 * Differs: a kubelet watches each object by default (configMapAndSecretChangeDetectionStrategy: Watch); this is its `Cache`
 * strategy, which costs no connection per object. A pod that is synced again does not make it ask again before its time.
 */
export class ObjectManager {
  /** by `namespace/name` */
  readonly #entries = new Map<string, Entry>();
  /** by uid: what the pod's last version names */
  readonly #registered = new Map<string, readonly string[]>();

  constructor(
    readonly deps: ObjectManagerDeps,
    readonly options: ObjectManagerOptions,
  ) {}

  /** How many objects are kept. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * To be called for each version of a pod. What it did not name before is read anew when it is next needed: a pod that was
   * made after a change must see the change.
   */
  registerPod(pod: V1Pod): void {
    const { namespace, uid } = pod.metadata;
    const names = this.options.kind === "secret" ? referencedSecrets(pod) : referencedConfigMaps(pod);
    const keys = [...names].map((name) => `${namespace}/${name}`);
    for (const key of keys) {
      const entry = this.#entries.get(key) ?? { podUids: new Set(), generation: 0 };
      if (entry.podUids.has(uid)) continue;
      entry.podUids.add(uid);
      entry.generation++;
      delete entry.fetchedMs;
      delete entry.pending;
      this.#entries.set(key, entry);
    }
    this.#release(uid, new Set(keys));
    this.#registered.set(uid, keys);
  }

  unregisterPod(pod: V1Pod): void {
    this.#release(pod.metadata.uid, new Set());
    this.#registered.delete(pod.metadata.uid);
  }

  /** @returns `configmap "x" not found` and the like as values. @throws the signal's reason */
  async get(namespace: string, name: string, signal: AbortSignal): Promise<ObjectResult> {
    const entry = this.#entries.get(`${namespace}/${name}`);
    if (entry === undefined) return this.#fetch(namespace, name, signal);
    const ttlMs = this.options.ttlMs ?? OBJECT_TTL_MS;
    const { fetchedMs, result } = entry;
    const isFresh = fetchedMs !== undefined && this.deps.clock.now() - fetchedMs < ttlMs;
    if (isFresh && result?.outcome === "ok") return result;
    // Several containers may want it at once; who gives up leaves the request to the others.
    entry.pending ??= this.#refresh(entry, namespace, name);
    const fresh = await orAborted(entry.pending, signal);
    // What was read once is good enough as long as nothing newer can be had; what is gone is gone.
    return fresh.outcome === "failed" && result?.outcome === "ok" ? result : fresh;
  }

  async #refresh(entry: Entry, namespace: string, name: string): Promise<ObjectResult> {
    const { generation } = entry;
    const askedMs = this.deps.clock.now();
    const isCurrent = () => entry.generation === generation;
    try {
      const result = await this.#fetch(namespace, name, undefined);
      if (result.outcome !== "failed" && isCurrent()) {
        entry.result = result;
        entry.fetchedMs = askedMs;
      }
      return result;
    } finally {
      if (isCurrent()) delete entry.pending;
    }
  }

  async #fetch(namespace: string, name: string, signal: AbortSignal | undefined): Promise<ObjectResult> {
    const { kind } = this.options;
    const path = objectPath({ apiVersion: "v1", resource: `${kind}s`, namespace }, name);
    let answer: KubeResponse<KubeObject>;
    try {
      answer = await this.deps.client.request<KubeObject>({
        method: "GET",
        path,
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (isAbortError(error) || !(error instanceof LabError)) throw error;
      return { outcome: "failed", message: error.message };
    }
    if (isSuccess(answer)) return { outcome: "ok", object: answer.body };
    // The API server says `configmaps "x" not found`; the kubelet's own store, which answers upstream, says it like this.
    if (answer.status === 404) return { outcome: "not-found", message: `${kind} ${JSON.stringify(name)} not found` };
    return { outcome: "failed", message: statusMessage(answer) };
  }

  /** Forgets what this pod has named and names no longer. */
  #release(podUid: string, kept: ReadonlySet<string>): void {
    for (const key of this.#registered.get(podUid) ?? []) {
      if (kept.has(key)) continue;
      const entry = this.#entries.get(key);
      entry?.podUids.delete(podUid);
      if (entry?.podUids.size === 0) this.#entries.delete(key);
    }
  }
}

/** @throws the signal's reason as soon as it aborts; what was waited for goes on */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
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

/** The files that a ConfigMap or a Secret makes. Sorted by name. */
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
