import { isDeepStrictEqual } from "node:util";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { MIRROR_POD_ANNOTATION } from "../../staging/apimachinery/corev1/pod-references.js";
import type { Trace } from "../../trace/trace.js";
import { Mutex } from "../../util/async/mutex.js";
import type { Clock } from "../../util/clock.js";
import { isSet } from "../../util/records.js";
import { formatPod } from "../container/helpers.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import {
  CONFIG_FIRST_SEEN_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  getPodFullName,
  type PodOperation,
  type PodSource,
  type PodUpdate,
} from "../types/pod-update.js";
import { Channel } from "./channel.js";
import { PodConfigObserver } from "./pod-config-observer.js";

/** If this many updates wait for the sync loop, the sources wait. */
const UPDATES_CAPACITY = 50;
/** Annotations that the kubelet itself writes: no source sets or changes them. */
const LOCAL_ANNOTATIONS = [CONFIG_SOURCE_ANNOTATION, MIRROR_POD_ANNOTATION, CONFIG_FIRST_SEEN_ANNOTATION];

export interface PodConfigDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  readonly recorder: PodEventRecorder;
}

/** The update of a source: all its pods (SET), or what has changed. */
export interface SourceUpdate {
  readonly op: Exclude<PodOperation, "RECONCILE">;
  readonly pods: readonly V1Pod[];
}

/** Sends one source's update. Resolves once the sync loop has room for the resulting changes. */
export type SourceChannel = (update: SourceUpdate, signal: AbortSignal) => Promise<void>;

export type Changes = Record<Exclude<PodOperation, "SET">, V1Pod[]>;

/**
 * Merges the pods of all sources and sends what changed: ADD, UPDATE, DELETE (gracefully), REMOVE (gone from its
 * source) and RECONCILE (only the status in the API differs).
 *
 * Mirrors pkg/kubelet/config/config.go (PodConfig and podStorage, with PodConfigNotificationIncremental).
 */
export class PodConfig {
  readonly #sources = new Set<PodSource>();
  readonly #sourcesSeen = new Set<PodSource>();
  readonly #pods = new Map<PodSource, Map<string, V1Pod>>();
  /** the result for each object of the last update: after a watch event for one pod all other objects are the same */
  readonly #handled = new WeakMap<V1Pod, V1Pod>();
  readonly #updates = new Channel<PodUpdate>(UPDATES_CAPACITY);
  readonly #merging = new Mutex();

  constructor(
    readonly deps: PodConfigDeps,
    readonly observer = new PodConfigObserver(deps.trace),
  ) {}

  /** Registers a source: from now on all sources count as seen only once it has sent its pods. */
  channel(source: PodSource): SourceChannel {
    this.#sources.add(source);
    return (update, signal) => this.#merging.run(() => this.#merge(source, update, signal));
  }

  /** Reports whether each source has sent all its pods once, and that was handled. Mirrors SeenAllSources. */
  seenAllSources(handled: ReadonlySet<string>): boolean {
    return [...this.#sources].every((source) => handled.has(source) && this.#sourcesSeen.has(source));
  }

  /** Changes, in order, for one reader. Ends (normally) when `signal` aborts. */
  updates(signal: AbortSignal): AsyncGenerator<PodUpdate> {
    return this.#updates.receive(signal);
  }

  /** Mirrors Merge. */
  async #merge(source: PodSource, update: SourceUpdate, signal: AbortSignal): Promise<void> {
    const seenBefore = this.#sourcesSeen.has(source);
    const changes = this.changes(source, update);
    const isFirstSet = !seenBefore && this.#sourcesSeen.has(source);
    const ops: (keyof Changes)[] = ["REMOVE", "ADD", "UPDATE", "DELETE"];
    for (const op of ops) if (changes[op].length > 0) await this.#send(op, source, changes[op], signal);
    const isSilent = changes.ADD.length + changes.UPDATE.length + changes.DELETE.length === 0;
    // An empty update shows that the source is ready and has no pods.
    if (isFirstSet && isSilent) await this.#send("ADD", source, [], signal);
    if (changes.RECONCILE.length > 0) await this.#send("RECONCILE", source, changes.RECONCILE, signal);
  }

  async #send(op: PodOperation, source: PodSource, pods: readonly V1Pod[], signal: AbortSignal): Promise<void> {
    const causedBy = this.observer.sends(op, source, pods);
    await this.#updates.send({ op, source, pods, ...this.deps.trace.keepScope({ causedBy }) }, signal);
  }

  /** Notes what a source has sent. Mirrors merge. @returns what has changed */
  changes(source: PodSource, { op, pods }: SourceUpdate): Changes {
    const changes: Changes = { ADD: [], UPDATE: [], DELETE: [], REMOVE: [], RECONCILE: [] };
    const before = this.#pods.get(source) ?? new Map<string, V1Pod>();
    if (op === "REMOVE") {
      for (const { metadata } of pods) {
        const existing = before.get(metadata.uid);
        if (existing !== undefined && before.delete(metadata.uid)) changes.REMOVE.push(existing);
      }
      this.#pods.set(source, before);
      return changes;
    }
    const after = op === "SET" ? new Map<string, V1Pod>() : before;
    if (op === "SET") this.#sourcesSeen.add(source);
    for (const pod of this.#filterInvalidPods(pods, source)) this.#updateOne(source, pod, before, after, changes);
    if (op === "SET") {
      for (const [uid, existing] of before) if (!after.has(uid)) changes.REMOVE.push(existing);
    }
    this.#pods.set(source, after);
    return changes;
  }

  #updateOne(
    source: PodSource,
    pod: V1Pod,
    before: ReadonlyMap<string, V1Pod>,
    after: Map<string, V1Pod>,
    changes: Changes,
  ): void {
    const { uid } = pod.metadata;
    const existing = before.get(uid);
    if (existing !== undefined && this.#handled.get(pod) === existing) {
      after.set(uid, existing);
      return;
    }
    const ref = withAnnotations(pod, { [CONFIG_SOURCE_ANNOTATION]: source });
    if (existing === undefined) {
      const seen = new Date(this.deps.clock.now()).toISOString();
      const added = withAnnotations(ref, { [CONFIG_FIRST_SEEN_ANNOTATION]: seen });
      after.set(uid, added);
      this.#handled.set(pod, added);
      changes.ADD.push(added);
      return;
    }
    const { op, pod: latest } = checkAndUpdatePod(existing, ref);
    after.set(uid, latest);
    this.#handled.set(pod, latest);
    if (op !== undefined) changes[op].push(latest);
  }

  /** If two pods have one name, the second is left out, with an event. Mirrors filterInvalidPods. */
  #filterInvalidPods(pods: readonly V1Pod[], source: PodSource): V1Pod[] {
    const names = new Set<string>();
    return pods.filter((pod) => {
      const fullName = getPodFullName(pod);
      if (!names.has(fullName)) return names.add(fullName);
      const { name } = pod.metadata;
      const message = `Error validating pod ${formatPod(pod)} from ${source} due to duplicate pod name ${JSON.stringify(name)}, ignoring`;
      this.observer.duplicate(pod, source);
      this.deps.recorder.event(pod, "Warning", "FailedValidation", message);
      return false;
    });
  }
}

/**
 * Decides what a newer state of a known pod means. Pure; mirrors checkAndUpdatePod.
 * @returns op: undefined when nothing has changed; pod: the state to keep
 */
function checkAndUpdatePod(
  existing: V1Pod,
  ref: V1Pod,
): { readonly op: "UPDATE" | "DELETE" | "RECONCILE" | undefined; readonly pod: V1Pod } {
  if (!podsDifferSemantically(existing, ref)) {
    if (isDeepStrictEqual(existing.status, ref.status)) return { op: undefined, pod: existing };
    return { op: "RECONCILE", pod: { ...existing, status: ref.status } };
  }
  const local = Object.entries(existing.metadata.annotations ?? {}).filter(([key]) => LOCAL_ANNOTATIONS.includes(key));
  const pod = withAnnotations(
    { ...existing, metadata: { ...ref.metadata, uid: existing.metadata.uid }, spec: ref.spec, status: ref.status },
    Object.fromEntries(local),
  );
  return { op: isSet(ref.metadata.deletionTimestamp) ? "DELETE" : "UPDATE", pod };
}

/** Reports a difference that a worker must act on. The status does not count: the kubelet writes it itself. */
function podsDifferSemantically(existing: V1Pod, ref: V1Pod): boolean {
  const said = ({ spec, metadata }: V1Pod) => ({
    spec,
    labels: metadata.labels ?? {},
    deletionTimestamp: metadata.deletionTimestamp ?? null,
    deletionGracePeriodSeconds: metadata.deletionGracePeriodSeconds ?? null,
    annotations: Object.fromEntries(
      Object.entries(metadata.annotations ?? {}).filter(([key]) => !LOCAL_ANNOTATIONS.includes(key)),
    ),
  });
  return !isDeepStrictEqual(said(existing), said(ref));
}

function withAnnotations(pod: V1Pod, annotations: Readonly<Record<string, string>>): V1Pod {
  const { metadata } = pod;
  return { ...pod, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
}
