import { targetNodeName } from "../../../../src/cluster/controllers/daemon/util/daemonset-util.js";
import { isPodActive } from "../../../../src/cluster/controllers/support/active-pods.js";
import { controllerOf } from "../../../../src/cluster/controllers/support/controller-ref.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { nameOf, type PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import type { LocalClient, WatchItem } from "../../../../src/staging/client-go/dynamic/interface.js";
import type { Clock } from "../../../../src/util/clock.js";
import { DAEMON_SETS, DEPLOYMENTS, JOBS, REPLICA_SETS, STATEFUL_SETS } from "./clients.js";

interface Change {
  readonly atMs: number;
  readonly version: number;
  readonly resource: string;
  readonly isDeleted: boolean;
  readonly object: KubeObject;
}

/** A controller may act on what was so this long ago: its cache follows the API server. */
const STALE_MS = 1_000;

interface Workload {
  readonly metadata: KubeObject["metadata"];
  readonly spec: {
    readonly replicas?: number;
    readonly parallelism?: number;
    readonly updateStrategy?: { readonly rollingUpdate?: { readonly maxSurge?: number | string } };
    readonly strategy?: { readonly type?: string; readonly rollingUpdate?: { readonly maxSurge?: number | string } };
  };
}

/** All watch events of workloads and pods, in the order of their versions. */
export class History {
  readonly #changes: Change[] = [];
  readonly #stop = new AbortController();
  readonly #following: Promise<unknown>;

  constructor(
    readonly admin: LocalClient,
    readonly clock: Clock,
  ) {
    this.#following = Promise.all(
      [DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS, JOBS, "pods"].map((one) => this.#follow(one)),
    );
  }

  async #follow(resource: string): Promise<void> {
    try {
      for await (const item of this.admin.reflect(resource, this.#stop.signal)) this.#note(resource, item);
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  #note(resource: string, item: WatchItem<KubeObject>): void {
    if (item.type === "initDone") return;
    const version = Number(item.object.metadata.resourceVersion);
    const isDeleted = item.type === "deleted";
    this.#changes.push({ atMs: this.clock.now(), version, resource, isDeleted, object: item.object });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#following;
  }

  /**
   * Each time a controller made more than there was room for: a ReplicaSet or Job pods, a Deployment replicas of its sets, and what
   * there was too much of a Deployment's pods once its sets' controller had done what it was told.
   */
  excesses(): string[] {
    const replay = new Replay();
    let atMs = 0;
    for (const change of this.#changes.sort((a, b) => a.version - b.version)) {
      // All that follows from one cause happens without time.
      if (change.atMs > atMs) replay.checkPodsOfDeployments(atMs);
      atMs = change.atMs;
      replay.apply(change);
    }
    return replay.excesses;
  }
}

interface State {
  readonly atMs: number;
  readonly object: KubeObject;
  readonly room: number;
}

/** The state of all objects after each change. */
class Replay {
  readonly excesses: string[] = [];
  /** of every object that there was, by uid */
  readonly #states = new Map<string, State[]>();
  readonly #now = new Map<string, KubeObject>();

  apply({ resource, object, isDeleted, atMs }: Change): void {
    const { uid = "" } = object.metadata;
    const before = this.#now.get(uid);
    if (isDeleted) this.#now.delete(uid);
    else this.#now.set(uid, object);
    const owner = controllerOf(object)?.uid;
    if (resource !== "pods") {
      const state = { atMs, object, room: roomOf(resource, object as unknown as Workload) };
      this.#states.set(uid, [...(this.#states.get(uid) ?? []), state]);
    }
    if (isDeleted || owner === undefined) return;
    const size = (one: KubeObject | undefined) => (one as unknown as Workload | undefined)?.spec.replicas ?? 0;
    if (resource === "pods" && before === undefined) this.#check(owner, this.#takenBy(object, owner), atMs);
    if (resource === REPLICA_SETS && size(object) > size(before)) {
      this.#check(
        owner,
        this.#childrenOf(owner).reduce((sum, set) => sum + size(set), 0),
        atMs,
      );
    }
  }

  /**
   * A StatefulSet makes up for a lost pod before it deletes those with higher ordinals, so only the new pod's ordinal counts. A
   * DaemonSet has room on each node.
   */
  #takenBy(pod: KubeObject, owner: string): number {
    const { kind } = controllerOf(pod) ?? {};
    if (kind === "DaemonSet") {
      const node = targetNodeName(pod as PodObject);
      return this.#activePodsOf([owner]).filter((one) => targetNodeName(one) === node).length;
    }
    if (kind !== "StatefulSet") return this.#activePodsOf([owner]).length;
    return Number(/\d+$/.exec(nameOf(pod))?.[0]) + 1;
  }

  checkPodsOfDeployments(atMs: number): void {
    for (const { kind, metadata } of [...this.#now.values()]) {
      if (kind !== "Deployment" || metadata.deletionTimestamp !== undefined) continue;
      const sets = this.#childrenOf(metadata.uid ?? "").map((set) => set.metadata.uid ?? "");
      this.#check(metadata.uid ?? "", this.#activePodsOf(sets).length, atMs);
    }
  }

  #childrenOf(owner: string): KubeObject[] {
    return [...this.#now.values()].filter((one) => controllerOf(one)?.uid === owner);
  }

  #activePodsOf(owners: readonly string[]): PodObject[] {
    const pods = owners.flatMap((owner) => this.#childrenOf(owner)) as PodObject[];
    return pods.filter(isPodActive);
  }

  #check(uid: string, count: number, atMs: number): void {
    const states = this.#states.get(uid) ?? [];
    const isCurrent = (_: State, i: number) => (states[i + 1]?.atMs ?? atMs) >= atMs - STALE_MS;
    const room = Math.max(...states.filter(isCurrent).map((state) => state.room));
    const { kind, metadata } = states.at(-1)?.object ?? {};
    if (count > room) this.excesses.push(`${atMs}: ${kind} ${metadata?.name} has ${count} of ${room}`);
  }
}

/** How many pods a workload may have. */
function roomOf(resource: string, { spec }: Workload): number {
  const { replicas = 1, parallelism = 1, strategy, updateStrategy } = spec;
  if (resource === JOBS) return parallelism;
  if (resource === DAEMON_SETS) return updateStrategy?.rollingUpdate?.maxSurge ? 2 : 1;
  if (resource !== DEPLOYMENTS || strategy?.type === "Recreate") return replicas;
  const { maxSurge = "25%" } = strategy?.rollingUpdate ?? {};
  return (
    replicas + (typeof maxSurge === "number" ? maxSurge : Math.ceil((replicas * Number.parseInt(maxSurge, 10)) / 100))
  );
}
