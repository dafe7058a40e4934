import { hostname } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { keyOf } from "../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf } from "../../staging/apimachinery/api/objects.js";
import { concurrently, isEnd } from "../../staging/apimachinery/wait.js";
import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import { forEachChange } from "../../staging/client-go/informers/for-each-change.js";
import type { SharedReflector, SharedReflectors } from "../../staging/client-go/informers/shared-reflector.js";
import type { Ctx } from "../../trace/ctx.js";
import { runInScope } from "../../trace/scope.js";
import { AsyncQueue } from "../../util/async/async-queue.js";
import { factFor } from "../../util/release/facts.js";
import { SchedulerCache } from "./cache.js";
import { SeriesRecorder } from "./event-recorder.js";
import type { Binder, ClusterEvent } from "./framework.js";
import { type ClusterLookups, clusterLookups } from "./lookups.js";
import { isWorthTrying, nodeChanges } from "./node-changes.js";
import { type PodInfo, podInfo, withPod } from "./node-info.js";
import { Nominator } from "./nominator.js";
import { isTerminal, nodeNameOf, type SchedulableNode, type SchedulablePod, uidOf } from "./objects.js";
import { VolumeBinder } from "./plugins/volume-binder.js";
import { VOLUME_EVENTS } from "./plugins/volume-binding.js";
import { defaultProfile, type Profile } from "./profile.js";
import { SchedulingQueue } from "./queue.js";
import { DEFAULT_SCHEDULER, SchedulingCycle } from "./schedule-one.js";

export interface SchedulerDeps extends Ctx {
  readonly client: LocalClient;
  /** `1.25` */
  readonly kubeVersion: string;
  readonly reflectors: SharedReflectors;
  readonly bind: Binder;
}

/**
 * Finds a node for each pod that has none, and binds it there.
 *
 * Mirrors pkg/scheduler (v1.25: scheduler.go, schedule_one.go, eventhandlers.go) with the default profile.
 * Differs: see `defaultProfile` for the plugins that are left out. Runs in the process of the controllers, but as a
 * separate user, system:kube-scheduler.
 */
export function createScheduler(deps: SchedulerDeps) {
  const run = async (signal: AbortSignal): Promise<void> => {
    const lookups = await clusterLookups(deps.reflectors, signal);
    await new SchedulerRun(deps, lookups).run(signal);
  };
  return { name: "scheduler", run };
}

const NEW_ONES = { onlyNew: true, receiver: "scheduler" } as const;

/** The state of one run of the scheduler. A restart after a failure creates a new one. */
class SchedulerRun {
  readonly #nodes: SharedReflector<SchedulableNode>;
  readonly #pods: SharedReflector<SchedulablePod>;
  readonly #cache = new SchedulerCache();
  readonly #nominator = new Nominator();
  readonly #queue: SchedulingQueue;
  readonly #recorder: SeriesRecorder;
  readonly #cycle: SchedulingCycle;
  readonly #bindings = new Set<Promise<void>>();
  readonly #failures = new AsyncQueue<never>();
  readonly #stop = new AbortController();
  readonly #infoOptions: { readonly sidecars: boolean };

  constructor(
    readonly deps: SchedulerDeps,
    readonly lookups: ClusterLookups,
  ) {
    const { clock, kubeVersion, reflectors } = deps;
    const binder = new VolumeBinder({ ...deps, lookups });
    const profile = defaultProfile(kubeVersion, lookups, binder);
    this.#nodes = reflectors.of<SchedulableNode>("nodes");
    this.#pods = reflectors.of<SchedulablePod>("pods");
    this.#infoOptions = { sidecars: factFor("sidecarContainers", kubeVersion) };
    this.#queue = new SchedulingQueue(clock, {
      initialBackoffMs: factFor("podInitialBackoff", kubeVersion),
      maxBackoffMs: factFor("podMaxBackoff", kubeVersion),
      maxUnschedulableMs: factFor("podMaxInUnschedulablePods", kubeVersion),
      popsFromBackoff: factFor("schedulerPopFromBackoffQ", kubeVersion),
      hasGates: factFor("podSchedulingReadiness", kubeVersion),
      eventsOf: eventsOf(profile),
    });
    const instance = `${DEFAULT_SCHEDULER}-${hostname()}`;
    this.#recorder = new SeriesRecorder(deps, { controller: DEFAULT_SCHEDULER, instance });
    this.#cycle = new SchedulingCycle({
      ...deps,
      profile,
      budgets: lookups.budgets,
      cache: this.#cache,
      queue: this.#queue,
      nominator: this.#nominator,
      recorder: this.#recorder,
      latest: (key) => this.#pods.byKey(key),
      infoOf: (pod) => this.#infoOf(pod),
      inBackground: (work) => this.#inBackground(work),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#nodes.synced(signal), this.#pods.synced(signal)]);
    // Each loop reads the existing objects before it waits, so all nodes are known when the first pod is popped.
    await concurrently(
      signal,
      (stop) => this.#watchNodes(stop),
      (stop) => this.#watchPods(stop),
      ...Object.entries(VOLUME_EVENTS).map((row) => (stop: AbortSignal) => this.#watchVolumes(row, stop)),
      (stop) => this.#recorder.run(stop),
      (stop) => this.#scheduleAll(stop),
      (stop) => this.#watchBindings(stop),
    );
    await this.#recorder.flush();
  }

  async #scheduleAll(signal: AbortSignal): Promise<never> {
    for (;;) {
      const queued = await this.#queue.pop(signal);
      await runInScope(queued.scope, () => this.#cycle.scheduleOne(queued));
    }
  }

  /** Starts a binding that waits for volumes: the next cycles do not wait for it. */
  #inBackground(work: (signal: AbortSignal) => Promise<void>): void {
    const { signal } = this.#stop;
    const binding = work(signal)
      .catch((error: unknown) => {
        if (!isEnd(error, signal)) this.#failures.fail(error);
      })
      .finally(() => this.#bindings.delete(binding));
    this.#bindings.add(binding);
  }

  /** @throws the error of a binding in the background */
  async #watchBindings(signal: AbortSignal): Promise<void> {
    try {
      for await (const failure of this.#failures.iterate(signal)) throw failure;
    } finally {
      this.#stop.abort();
      await Promise.all(this.#bindings);
    }
  }

  /** Mirrors addNodeToCache, updateNodeInCache, deleteNodeFromCache. */
  async #watchNodes(signal: AbortSignal): Promise<void> {
    const changes = this.#nodes.changes(signal, NEW_ONES);
    for (const node of this.#nodes.list()) this.#cache.setNode(nameOf(node), node);
    await forEachChange(this.deps.trace, changes, (item) => {
      if (item.type === "initDone") return;
      const name = nameOf(item.object);
      if (item.type === "deleted") {
        this.#cache.removeNode(name);
        return;
      }
      const before = this.#cache.node(name)?.node;
      const node = this.#cache.setNode(name, item.object);
      this.#queue.moveAll(nodeChanges(item.object, before), (pod) => isWorthTrying(pod, node));
    });
  }

  /** The first object that a pod waits for, or a change of it, gives the pod another try. */
  async #watchVolumes(
    [resource, [added, updated]]: readonly [string, readonly [ClusterEvent, ClusterEvent]],
    signal: AbortSignal,
  ): Promise<void> {
    const changes = this.deps.reflectors.of(resource).changes(signal, NEW_ONES);
    await forEachChange(this.deps.trace, changes, (item) => {
      if (item.type === "applied") this.#queue.moveAll([item.previous === undefined ? added : updated]);
    });
  }

  async #watchPods(signal: AbortSignal): Promise<void> {
    const changes = this.#pods.changes(signal, NEW_ONES);
    for (const pod of this.#pods.list()) this.#podApplied(pod, undefined);
    await forEachChange(this.deps.trace, changes, (item) => {
      if (item.type === "initDone") return;
      if (item.type === "deleted") this.#podGone(item.object);
      else this.#podApplied(item.object, item.type === "applied" ? item.previous : undefined);
    });
  }

  #podApplied(pod: SchedulablePod, previous: SchedulablePod | undefined): void {
    if (isTerminal(pod)) this.#podGone(pod);
    else if (nodeNameOf(pod) !== "") this.#podIsBound(pod);
    else if ((pod.spec?.schedulerName ?? DEFAULT_SCHEDULER) === DEFAULT_SCHEDULER) this.#podWaits(pod, previous);
  }

  /** Mirrors addPodToSchedulingQueue and updatePodInSchedulingQueue. */
  #podWaits(pod: SchedulablePod, previous: SchedulablePod | undefined): void {
    const key = keyOf(pod);
    // Its binding is under way. If that fails, the newest version of the pod is read again.
    if (this.#cache.isAssumed(key)) return;
    const info = this.#infoOf(pod);
    const nominated = pod.status?.["nominatedNodeName"];
    if (typeof nominated === "string" && nominated !== "") this.#nominator.nominate(info, nominated);
    this.#queue.update(info, previous === undefined || isChanged(pod, previous));
  }

  /** Mirrors addPodToCache and updatePodInCache. */
  #podIsBound(pod: SchedulablePod): void {
    const key = keyOf(pod);
    const before = this.#cache.info(key);
    const info = this.#infoOf(pod);
    this.#cache.addPod(info);
    this.#queue.delete(key);
    this.#nominator.remove(key);
    if (before !== undefined && asksForLess(info, before)) this.#queue.moveAll(["AssignedPodUpdate"]);
    else this.#queue.moveAll(["AssignedPodAdd"], (waiting) => this.#needs(waiting, pod));
  }

  /** Mirrors getUnschedulablePodsWithMatchingAffinityTerm in pkg/scheduler/internal/queue/scheduling_queue.go. */
  #needs({ affinity }: PodInfo, bound: SchedulablePod): boolean {
    return affinity?.required.some((term) => term.matches(bound, this.lookups.namespaceLabels)) === true;
  }

  /** Mirrors deletePodFromCache and deletePodFromSchedulingQueue; upstream's watch leaves finished pods out. */
  #podGone(pod: SchedulablePod): void {
    const key = keyOf(pod);
    const held = this.#cache.pod(key);
    const frees = held !== undefined && uidOf(held) === uidOf(pod);
    if (frees) this.#cache.removePod(key);
    this.#queue.delete(key);
    const wasNominated = this.#nominator.remove(key);
    if (frees || wasNominated) this.#queue.moveAll(["AssignedPodDelete"]);
  }

  #infoOf(pod: SchedulablePod): PodInfo {
    const known = this.#cache.info(keyOf(pod)) ?? this.#queue.get(keyOf(pod))?.info;
    // A change of only the status is the most frequent one. It keeps the values computed from the spec.
    return known !== undefined && known.pod.spec === pod.spec ? withPod(known, pod) : podInfo(pod, this.#infoOptions);
  }
}

function eventsOf({ filters }: Profile) {
  const byName = new Map(filters.map(({ name, events }) => [name, events]));
  return (plugin: string) => byName.get(plugin) ?? [];
}

/** Reports whether a change can affect scheduling; status and book-keeping cannot. Mirrors isPodUpdated. */
function isChanged(now: SchedulablePod, before: SchedulablePod): boolean {
  if (isTerminating(now) !== isTerminating(before)) return true;
  const { labels, annotations, ownerReferences, finalizers } = now.metadata;
  const old = before.metadata;
  return (
    !isDeepStrictEqual(now.spec, before.spec) ||
    !isDeepStrictEqual(
      [labels, annotations, ownerReferences, finalizers],
      [old.labels, old.annotations, old.ownerReferences, old.finalizers],
    )
  );
}

function asksForLess(now: PodInfo, before: PodInfo): boolean {
  if (now.requests === before.requests) return false;
  return [...before.requests].some(([name, amount]) => (now.requests.get(name) ?? 0) < amount);
}
