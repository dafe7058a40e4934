import type { V1Volume } from "@kubernetes/client-node";
import { allContainersOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import type { Trace } from "../../trace/trace.js";
import { Mutex } from "../../util/async/mutex.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import type { Labels } from "../metrics/metric-registry.js";
import { type ClaimDeps, ClaimError, createVolumeSpec } from "./claims.js";
import { VolumeSetUpError } from "./payload.js";
import { pluginOf } from "./plugins.js";
import { removePodVolumes } from "./remove.js";
import {
  type MountedVolume,
  requiresRemount,
  type SetUpDeps,
  type SetUpOptions,
  setUpFailure,
  setUpVolume,
} from "./set-up.js";
import { VolumeObserver } from "./volume-observer.js";

/** How long a pod's sync waits for its volumes: 2 min 3 s. Mirrors podAttachAndMountTimeout. */
export const POD_ATTACH_AND_MOUNT_TIMEOUT_MS = 123_000;
/** pkg/util/goroutinemap/exponentialbackoff: 500 ms, doubling, to 2 min 2 s. */
const INITIAL_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 122_000;

export interface VolumeManagerDeps extends SetUpDeps, ClaimDeps {
  readonly recorder: PodEventRecorder;
  readonly trace: Trace;
  readonly metrics?: Pick<KubeletMetrics, "observe">;
}

/** The error for volumes that are not set up in time, in upstream's words. */
export class VolumesError extends Error {
  override readonly name = "VolumesError";
}

/** The volumes that containers mount; the others are not set up. Mirrors GetPodVolumeNames in pkg/volume/util/util.go. */
function mountedVolumeNames(pod: V1Pod): ReadonlySet<string> {
  return new Set(allContainersOf(pod).flatMap(({ volumeMounts }) => (volumeMounts ?? []).map(({ name }) => name)));
}

/** Mirrors the end of WaitForAttachAndMount. */
function unmounted(missing: readonly string[], expected: readonly Wire<V1Volume>[], why: string): VolumesError {
  const all = expected.map(({ name }) => name);
  return new VolumesError(`unmounted volumes=[${missing.join(" ")}], unattached volumes=[${all.join(" ")}]: ${why}`);
}

interface PodVolumes {
  /** those that its containers mount, as the last sync saw them */
  expected: readonly Wire<V1Volume>[];
  readonly mounted: Map<string, MountedVolume>;
  readonly failures: Map<string, { readonly backoffMs: number; readonly retryAtMs: number }>;
  readonly mutex: Mutex;
}

/**
 * Sets up the volumes of pods, updates their content when its source has changed, and removes them.
 *
 * Mirrors pkg/kubelet/volumemanager (WaitForAttachAndMount, WaitForUnmount, GetMountedVolumesForPod).
 * Differs: works on demand, where upstream's reconciler runs every 100 ms. Volumes are not mounts of the system: those
 * of an earlier kubelet are found again in their folder, or are removed with the pod's.
 */
export class VolumeManager {
  readonly #pods = new Map<string, PodVolumes>();

  constructor(
    readonly deps: VolumeManagerDeps,
    readonly options: SetUpOptions,
  ) {}

  /** This pod's volumes that are set up, by their name in the spec. */
  getMountedVolumes(podUid: string): ReadonlyMap<string, MountedVolume> {
    return this.#pods.get(podUid)?.mounted ?? new Map();
  }

  /**
   * Waits up to 2 min 3 s until all volumes that the pod's containers mount are set up, and updates those that show API
   * objects. Call it in each sync. Records a FailedMount event for each volume that fails.
   * @throws VolumesError when the time is over; the signal's reason
   */
  async waitForAttachAndMount(pod: V1Pod, signal: AbortSignal): Promise<void> {
    const names = mountedVolumeNames(pod);
    const expected = (pod.spec.volumes ?? []).filter(({ name }) => names.has(name));
    if (expected.length === 0) return;
    const volumes = this.#of(pod.metadata.uid);
    volumes.expected = expected;
    await volumes.mutex.run(() => this.#waitFor(pod, expected, volumes, signal));
  }

  async #waitFor(
    pod: V1Pod,
    expected: readonly Wire<V1Volume>[],
    volumes: PodVolumes,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.deps;
    const deadlineMs = clock.now() + POD_ATTACH_AND_MOUNT_TIMEOUT_MS;
    const before = volumes.mounted.size;
    let isFirst = true;
    for (;;) {
      signal.throwIfAborted();
      const problems: string[] = [];
      for (const volume of expected) {
        const isThere = volumes.mounted.has(volume.name);
        if (!isThere || (isFirst && requiresRemount(volume))) {
          await this.#try(pod, volume, volumes, signal).catch((error: unknown) => {
            if (!(error instanceof ClaimError)) throw error;
            problems.push(error.message);
          });
        }
      }
      isFirst = false;
      const missing = expected.filter(({ name }) => !volumes.mounted.has(name)).map(({ name }) => name);
      if (missing.length === 0) {
        if (volumes.mounted.size > before) new VolumeObserver(this.deps.trace).allMounted(pod, expected.length);
        return;
      }
      if (problems.length > 0) throw unmounted(missing, expected, problems.join("; "));
      const retries = missing.map((name) => volumes.failures.get(name)?.retryAtMs ?? clock.now());
      const nextMs = Math.min(...retries, deadlineMs);
      await clock.sleep(nextMs - clock.now(), signal);
      if (clock.now() < deadlineMs) continue;
      throw unmounted(missing, expected, "timed out waiting for the condition");
    }
  }

  /** Sets one up, unless it has just failed. Mirrors MountVolume in operation_generator.go. */
  async #try(pod: V1Pod, volume: Wire<V1Volume>, volumes: PodVolumes, signal: AbortSignal): Promise<void> {
    const { clock, recorder, trace } = this.deps;
    const { name } = volume;
    const failed = volumes.failures.get(name);
    if (failed !== undefined && clock.now() < failed.retryAtMs) return;
    const startMs = clock.now();
    let specName = name;
    try {
      const spec = await createVolumeSpec(this.deps, pod, volume, signal);
      specName = spec.name;
      const { mounted, changed } = await setUpVolume(this.deps, this.options, pod, spec, signal);
      this.#observe("volume_mount", volume, "success", startMs);
      const isNew = !volumes.mounted.has(name);
      volumes.mounted.set(name, mounted);
      volumes.failures.delete(name);
      if (!isNew && !changed) return;
      new VolumeObserver(trace).setUp(name, pod, isNew ? "mounted" : "updated");
    } catch (error) {
      signal.throwIfAborted();
      const why = setUpFailure(error);
      if (why === undefined) throw error;
      this.#observe("volume_mount", volume, "fail-unknown", startMs);
      const backoffMs = failed === undefined ? INITIAL_BACKOFF_MS : Math.min(failed.backoffMs * 2, MAX_BACKOFF_MS);
      volumes.failures.set(name, { backoffMs, retryAtMs: clock.now() + backoffMs });
      const operation = error instanceof VolumeSetUpError ? error.operation : "SetUp";
      const message = `MountVolume.${operation} failed for volume ${JSON.stringify(specName)} : ${why}`;
      recorder.event(pod, "Warning", "FailedMount", message);
    }
  }

  /**
   * Removes the volumes of a pod. Call it only when none of its containers runs any more.
   * Mirrors WaitForUnmount, and TearDown of the plugins.
   * @throws the file system's error: the sync is tried again
   */
  async waitForUnmount(pod: V1Pod, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { uid } = pod.metadata;
    const volumes = this.#of(uid);
    await volumes.mutex.run(async () => {
      const hadAny = volumes.mounted.size > 0;
      const mounted = volumes.expected.filter(({ name }) => volumes.mounted.has(name));
      const startMs = this.deps.clock.now();
      await removePodVolumes(this.options.rootDir, uid);
      for (const volume of mounted) this.#observe("volume_unmount", volume, "success", startMs);
      this.#pods.delete(uid);
      if (!hadAny) return;
      new VolumeObserver(this.deps.trace).removed(pod);
    });
  }

  /** Reports whether any of the pod's volumes is in use. Mirrors podVolumesExist in pkg/kubelet/kubelet_volumes.go. */
  podVolumesExist(podUid: string): boolean {
    return this.getMountedVolumes(podUid).size > 0;
  }

  /** One sample for each volume of a pod, and one more if it is set up. Mirrors getVolumeCount in pkg/kubelet/volumemanager/metrics. */
  volumeCounts(): readonly { readonly labels: Labels; readonly value: number }[] {
    const all = [...this.#pods.values()];
    const desired = all.flatMap(({ expected }) => expected);
    const actual = all.flatMap(({ expected, mounted }) => expected.filter(({ name }) => mounted.has(name)));
    const states = { actual_state_of_world: actual, desired_state_of_world: desired };
    return Object.entries(states).flatMap(([state, volumes]) =>
      volumes.map((volume) => ({ labels: { plugin_name: pluginOf(volume), state }, value: 1 })),
    );
  }

  /** Mirrors OperationCompleteHook in pkg/volume/util/metrics.go. */
  #observe(operation: string, volume: Wire<V1Volume>, status: "success" | "fail-unknown", startMs: number): void {
    const { metrics, clock } = this.deps;
    const labels = { migrated: "false", operation_name: operation, status, volume_plugin: pluginOf(volume) };
    metrics?.observe("storage_operation_duration_seconds", clock.now() - startMs, labels);
  }

  #of(podUid: string): PodVolumes {
    const known = this.#pods.get(podUid);
    if (known !== undefined) return known;
    const fresh: PodVolumes = { expected: [], mounted: new Map(), failures: new Map(), mutex: new Mutex() };
    this.#pods.set(podUid, fresh);
    return fresh;
  }
}
