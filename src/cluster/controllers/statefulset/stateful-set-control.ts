import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import { decide } from "../support/sync-loop.js";
import { storageMatches } from "./claims.js";
import { identityMatches, ordinalOf, type StatefulSet } from "./identity.js";
import type { StatefulPodControl } from "./stateful-pod-control.js";
import { ReplicaCounts } from "./stateful-set-status.js";
import {
  isCreated,
  isHealthy,
  isMonotonic,
  isRunningAndAvailable,
  isRunningAndReady,
  newVersionedStatefulSetPod,
  ordinalsOf,
  partitionOf,
  podRevision,
  replicasOf,
  type Versions,
} from "./stateful-set-utils.js";

const UPSTREAM = { file: "pkg/controller/statefulset/stateful_set_control.go", func: "updateStatefulSet" };

export interface ControlDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  readonly recorder: EventRecorder;
  readonly podControl: StatefulPodControl;
  /** set key -> what the last pass waited for, so that it is reported once */
  readonly waits: Map<string, string>;
  readonly kubeVersion: string;
}

/** Whether the pass continues with the next pod, or ends here. */
type Outcome = "next" | "done";

/**
 * One pass over the pods of one set: it creates and mends those that are wanted, deletes the others, and replaces those of an old
 * revision. With OrderedReady it takes one step, and the change that this causes brings the next pass.
 * Mirrors updateStatefulSet in pkg/controller/statefulset/stateful_set_control.go.
 */
export class StatefulSetPass {
  readonly counts: ReplicaCounts;
  /** the desired pods by ordinal; missing pods are listed in their desired form */
  readonly #replicas: PodObject[];
  /** beyond the wanted ordinals, in their order */
  readonly #condemned: readonly PodObject[];
  readonly #firstUnhealthy: PodObject | undefined;

  constructor(
    readonly deps: ControlDeps,
    readonly set: StatefulSet,
    readonly versions: Versions,
    pods: readonly PodObject[],
  ) {
    this.counts = new ReplicaCounts(versions, pods, deps.clock.now());
    const ordinals = ordinalsOf(set);
    const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
    this.#replicas = ordinals.map((ordinal) => byOrdinal.get(ordinal) ?? this.#newPod(ordinal));
    const wanted = new Set(ordinals);
    this.#condemned = pods
      .filter((pod) => ordinalOf(pod) >= 0 && !wanted.has(ordinalOf(pod)))
      .sort((a, b) => ordinalOf(a) - ordinalOf(b));
    this.#firstUnhealthy = [...this.#replicas, ...this.#condemned].find((pod) => !isHealthy(pod));
  }

  /** @throws the API server's refusal; `counts` has what was done before it */
  async run(): Promise<void> {
    // While it is deleted, only the status follows.
    if (isTerminating(this.set)) return;
    for (const index of this.#replicas.keys()) if ((await this.#processReplica(index)) === "done") return;
    if ((await this.#scaleDown()) === "done") return;
    if (this.set.spec?.updateStrategy?.type !== "OnDelete") await this.#rollOut();
    else this.#waitsNoMore();
  }

  #newPod(ordinal: number): PodObject {
    return newVersionedStatefulSetPod(this.versions, ordinal, this.deps.kubeVersion);
  }

  get #isMonotonic(): boolean {
    return isMonotonic(this.set);
  }

  get #title(): string {
    return `StatefulSet ${keyOf(this.set)}`;
  }

  async #processReplica(index: number): Promise<Outcome> {
    const existing = this.#replicas[index] as PodObject;
    if (existing.status?.phase === "Failed") await this.#recreate(index, existing);
    const pod = this.#replicas[index] as PodObject;
    if (!isCreated(pod)) {
      const isStale = this.deps.podControl.hasStaleClaim(this.set, pod);
      if (isStale) return this.#wait(pod, "until its old claims are gone", "they go with the pod that was scaled away");
      await this.#create(pod);
      return this.#isMonotonic ? "done" : "next";
    }
    if (this.#isMonotonic) {
      if (isTerminating(pod)) return this.#wait(pod, "to terminate", "only then it is created again");
      const isBefore = "with OrderedReady nothing else changes before that";
      if (!isRunningAndReady(pod)) return this.#wait(pod, "to be running and ready", isBefore);
      if (!this.#isAvailable(pod)) return this.#wait(pod, this.#availability, isBefore);
    }
    const fits = identityMatches(this.set, pod) && storageMatches(this.set, pod);
    if (fits && this.deps.podControl.claimsMatch(this.set, pod)) return "next";
    const why = fits
      ? "its claims have other owners than the retention policy wants"
      : "its label or its claims do not fit its name";
    await this.#decide(`update pod ${keyOf(pod)}`, why, () =>
      this.deps.podControl.updatePod(this.versions.updateSet, pod),
    );
    return "next";
  }

  #isAvailable(pod: PodObject): boolean {
    return isRunningAndAvailable(pod, this.set, this.deps.clock.now());
  }

  get #availability(): string {
    return `to be available: ready for ${this.set.spec?.minReadySeconds} s`;
  }

  async #recreate(index: number, pod: PodObject): Promise<void> {
    const { recorder, podControl } = this.deps;
    const message = `${this.#title} is recreating failed Pod ${nameOf(pod)}`;
    await this.#decide(`delete pod ${keyOf(pod)}`, "its phase is Failed, and another one takes its place", async () => {
      recorder.event(referenceTo(this.set), "Warning", "RecreatingFailedPod", message);
      await podControl.deletePod(this.set, pod);
    });
    this.counts.deleted(pod);
    this.counts.replicas--;
    this.#replicas[index] = this.#newPod(ordinalOf(pod));
  }

  async #create(pod: PodObject): Promise<void> {
    const { replicas } = this.counts;
    const why = `${this.#title} has ${replicas} of ${replicasOf(this.set)} replicas`;
    const order =
      this.#isMonotonic && pod !== this.#replicas[0] ? ", and all pods before it are running and ready" : "";
    await this.#decide(`create pod ${keyOf(pod)} of revision ${podRevision(pod)}`, `${why}${order}`, () =>
      this.deps.podControl.createPod(this.set, pod),
    );
    this.counts.created(pod);
  }

  /** The highest ordinal goes first. */
  async #scaleDown(): Promise<Outcome> {
    for (const pod of this.#condemned) await this.#keepClaims(pod);
    for (const pod of [...this.#condemned].reverse()) {
      if (isTerminating(pod)) {
        if (!this.#isMonotonic) continue;
        return this.#wait(pod, "to terminate", "the set is scaled down one pod at a time");
      }
      if (this.#isMonotonic && pod !== this.#firstUnhealthy) {
        const why = `pod ${keyOf(pod)} is deleted when all others are`;
        const unhealthy = this.#firstUnhealthy ?? pod;
        if (!isRunningAndReady(pod)) return this.#wait(unhealthy, "to be running and ready", why);
        if (!this.#isAvailable(pod)) return this.#wait(pod, this.#availability, why);
      }
      const why = `${this.#title} wants ${replicasOf(this.set)} replicas`;
      await this.#decide(`delete pod ${keyOf(pod)}`, why, () => this.deps.podControl.deletePod(this.set, pod));
      this.counts.deleted(pod);
      if (this.#isMonotonic) return "done";
    }
    return "next";
  }

  /** A claim that goes with the pod must be the pod's before that goes. */
  async #keepClaims(pod: PodObject): Promise<void> {
    const { podControl } = this.deps;
    if (podControl.claimsMatch(this.set, pod)) return;
    const why = "the retention policy of the set says with whom they go";
    await this.#decide(`change the owners of the claims of pod ${keyOf(pod)}`, why, () =>
      podControl.keepClaims(this.set, pod),
    );
  }

  /** Replaces one pod of an old revision, from the highest ordinal down to the partition, after those above it are healthy. */
  async #rollOut(): Promise<void> {
    const update = nameOf(this.versions.updateRevision);
    const partition = partitionOf(this.set);
    for (const pod of this.#replicas.slice(partition).reverse()) {
      if (podRevision(pod) !== update && !isTerminating(pod)) {
        const from = partition > 0 ? `, and the partition is ${partition}` : "";
        const why = `its revision is ${podRevision(pod) || "unknown"}, not ${update}${from}`;
        await this.#decide(`delete pod ${keyOf(pod)}`, why, () => this.deps.podControl.deletePod(this.set, pod));
        this.counts.currentReplicas--;
        return;
      }
      if (!isHealthy(pod)) {
        this.#wait(pod, "to be running and ready", "the rolling update goes on with the pod before it then");
        return;
      }
    }
    this.#waitsNoMore();
  }

  #decide(what: string, why: string, act: () => Promise<void>): Promise<void> {
    this.#waitsNoMore();
    return decide(this.deps.trace, { what, why, upstream: UPSTREAM }, act);
  }

  #waitsNoMore(): void {
    this.deps.waits.delete(keyOf(this.set));
  }

  /** Each change of a pod brings another pass, which waits for the same. */
  #wait(pod: PodObject, until: string, why: string): "done" {
    const { trace, waits } = this.deps;
    const key = keyOf(this.set);
    const what = `wait for pod ${keyOf(pod)} ${until}`;
    const isNew = waits.get(key) !== `${what}: ${why}`;
    waits.set(key, `${what}: ${why}`);
    decide(trace, { what, why, upstream: UPSTREAM }, () => {}, isNew ? 1 : 3);
    return "done";
  }
}
