import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import { semanticallyEqual } from "../../../staging/apimachinery/semantic-equality.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import type { ReplicaSet } from "../replicaset/replica-set-utils.js";
import type { OwnWrites } from "../support/own-writes.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { decide } from "../support/sync-loop.js";
import { withReplicas } from "./util/annotations.js";
import type { DeploymentCondition } from "./util/conditions.js";
import { type Deployment, type DeploymentStatus, maxSurge, replicasOf } from "./util/deployment-util.js";

export const DEPLOYMENTS = "deployments.apps";
export const REPLICA_SETS = "replicasets.apps";

const SYNC = "pkg/controller/deployment/sync.go";

export interface PassDeps extends Pick<SharedDeps, "client" | "clock" | "trace"> {
  readonly recorder: EventRecorder;
  /** gets what each pass writes */
  readonly written: { readonly deployments: OwnWrites<Deployment>; readonly sets: OwnWrites<ReplicaSet> };
}

/** Why a set is scaled: `at most 4 pods may exist`, decided by `rolling.go (reconcileNewReplicaSet)`. */
export interface ScaleReason {
  readonly why: string;
  /** in pkg/controller/deployment */
  readonly file: string;
  readonly func: string;
}

/**
 * One pass over one Deployment: its current object, which every write replaces, and the writes that all strategies share.
 * Differs: a later write in the same pass has the version that the earlier one returned; upstream's has the version of the cache, is
 * refused, and is tried again by the queue.
 */
export class DeploymentPass {
  constructor(
    readonly deps: PassDeps,
    public deployment: Deployment,
    /** all that it owns, adopted ones included */
    public sets: readonly ReplicaSet[],
  ) {}

  /** Writes a set that it owns, so that a later step of the pass sees it as it is stored. */
  async updateSet(next: ReplicaSet): Promise<ReplicaSet> {
    const written = await this.deps.client.update<ReplicaSet>(REPLICA_SETS, next);
    this.deps.written.sets.remember(written);
    this.sets = this.sets.map((one) => (one.metadata.uid === written.metadata.uid ? written : one));
    return written;
  }

  get key(): string {
    return keyOf(this.deployment);
  }

  get nowMs(): number {
    return this.deps.clock.now();
  }

  event(type: "Normal" | "Warning", reason: string, message: string): void {
    this.deps.recorder.event(referenceTo(this.deployment), type, reason, message);
  }

  /**
   * Writes a status and annotations that changed.
   * @returns false if nothing changed
   */
  async writeStatus(
    status: DeploymentStatus,
    func: string,
    annotations = this.deployment.metadata.annotations,
  ): Promise<boolean> {
    const { client, trace } = this.deps;
    const { status: before = {}, metadata } = this.deployment;
    const sameAnnotations = semanticallyEqual(annotations, metadata.annotations);
    if (semanticallyEqual(before, status) && sameAnnotations) return false;
    const next = { ...this.deployment, metadata: { ...metadata, annotations }, status } as Deployment;
    const what = `write the status of Deployment ${this.key}`;
    const why = [...changesOf(before, status), ...(sameAnnotations ? [] : ["its revision"])].join(", ");
    const write = () => client.update<Deployment>(DEPLOYMENTS, next, "status");
    this.deployment = await decide(trace, { what, why, upstream: upstreamOf(func) }, write, 2);
    this.deps.written.deployments.remember(this.deployment);
    return true;
  }

  /**
   * Gives a set another size, and notes the Deployment's size on it. Mirrors scaleReplicaSet.
   * @returns the set as it is stored
   */
  async scaleReplicaSet(set: ReplicaSet, size: number, { why, file, func }: ScaleReason): Promise<ReplicaSet> {
    const { trace } = this.deps;
    const before = set.metadata.annotations ?? {};
    const replicas = replicasOf(this.deployment);
    const annotations = withReplicas(before, replicas, replicas + maxSurge(this.deployment));
    const oldSize = replicasOf(set);
    if (oldSize === size && semanticallyEqual(before, annotations)) return set;
    const direction = size > oldSize ? "up" : "down";
    const what =
      oldSize === size
        ? `note the size of Deployment ${this.key} on ReplicaSet ${keyOf(set)}`
        : `scale ${direction} ReplicaSet ${keyOf(set)} from ${oldSize} to ${size}`;
    const upstream = { file: `pkg/controller/deployment/${file}`, func };
    return decide(trace, { what, why, upstream }, async () => {
      const spec = { ...set.spec, replicas: size };
      const next = { ...set, metadata: { ...set.metadata, annotations }, spec } as ReplicaSet;
      const written = await this.updateSet(next);
      if (oldSize !== size) {
        const message = `Scaled ${direction} replica set ${nameOf(set)} to ${size} from ${oldSize}`;
        this.event("Normal", "ScalingReplicaSet", message);
      }
      return written;
    });
  }

  /** Does nothing to a set that has the size. Mirrors scaleReplicaSetAndRecordEvent. */
  async scaleIfNeeded(
    set: ReplicaSet,
    size: number,
    reason: ScaleReason,
  ): Promise<{ readonly isScaled: boolean; readonly set: ReplicaSet }> {
    if (replicasOf(set) === size) return { isScaled: false, set };
    return { isScaled: true, set: await this.scaleReplicaSet(set, size, reason) };
  }
}

function upstreamOf(func: string) {
  return { file: func === "syncRolloutStatus" ? "pkg/controller/deployment/progress.go" : SYNC, func };
}

const COUNTS = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"] as const;

function changesOf(before: DeploymentStatus, after: DeploymentStatus): string[] {
  const counts = COUNTS.filter((name) => (before[name] ?? 0) !== (after[name] ?? 0)).map(
    (name) => `${name} ${before[name] ?? 0} -> ${after[name] ?? 0}`,
  );
  const shown = ({ status, reason = "" }: DeploymentCondition) => `${status} (${reason})`;
  const conditions = (after.conditions ?? []).flatMap((condition) => {
    const old = before.conditions?.find(({ type }) => type === condition.type);
    return old !== undefined && shown(old) === shown(condition) ? [] : [`${condition.type} ${shown(condition)}`];
  });
  const generation =
    before.observedGeneration === after.observedGeneration ? [] : [`generation ${after.observedGeneration}`];
  const all = [...counts, ...conditions, ...generation];
  return all.length === 0 ? ["times of conditions"] : all;
}
