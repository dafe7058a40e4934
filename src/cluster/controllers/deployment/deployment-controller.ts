import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { isPodPhaseTerminal } from "../../../staging/apimachinery/api/pod.js";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import { matchesSelector } from "../../../staging/apimachinery/selector.js";
import { semanticallyEqual } from "../../../staging/apimachinery/semantic-equality.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { Controller } from "../controller.js";
import type { ReplicaSet } from "../replicaset/replica-set-utils.js";
import { controllerOf, resolveControllerRef } from "../support/controller-ref.js";
import { ControllerRefManager } from "../support/controller-ref-manager.js";
import { OwnWrites } from "../support/own-writes.js";
import { isNamespaceTerminating } from "../support/pod-control.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, runSyncLoop } from "../support/sync-loop.js";
import { createNewReplicaSet } from "./new-replica-set.js";
import { DEPLOYMENTS, DeploymentPass, type PassDeps, REPLICA_SETS } from "./pass.js";
import { progressCheckMs } from "./progress.js";
import { rolloutRecreate } from "./recreate.js";
import { rolloutRolling } from "./rolling.js";
import { checkPausedConditions, isScalingEvent, syncRevision, syncSize, syncStatusOnly } from "./sync.js";
import type { Deployment } from "./util/deployment-util.js";

const NAME = "deployment";
/** Mirrors maxRetries: 5 ms to 82 s. */
const MAX_RETRIES = 15;

/**
 * Makes a ReplicaSet for each version of a Deployment's template, and moves the pods from the old ones to the newest.
 * Mirrors pkg/controller/deployment/deployment_controller.go (DeploymentController).
 */
export function createDeploymentController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new DeploymentRun(deps).run(signal) };
}

class DeploymentRun {
  readonly #deployments: SharedReflector<Deployment>;
  readonly #sets: SharedReflector<ReplicaSet>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #queue: WorkQueue;
  readonly #passDeps: PassDeps;
  readonly #written = { deployments: new OwnWrites<Deployment>(), sets: new OwnWrites<ReplicaSet>() };

  constructor(readonly deps: SharedDeps) {
    const { clock, client, trace, reflectors } = deps;
    this.#deployments = reflectors.of<Deployment>(DEPLOYMENTS);
    this.#sets = reflectors.of<ReplicaSet>(REPLICA_SETS);
    this.#pods = reflectors.of<PodObject>("pods");
    this.#queue = new WorkQueue(clock, { maxRetries: MAX_RETRIES });
    const recorder = deps.recorderFor("deployment-controller");
    this.#passDeps = { client, clock, trace, recorder, written: this.#written };
  }

  run(signal: AbortSignal): Promise<void> {
    const enqueue = (deployment: Deployment) => this.#queue.add(keyOf(deployment));
    const sources = [
      changesOf(this.#deployments, { added: enqueue, updated: (_previous, now) => enqueue(now), deleted: enqueue }),
      changesOf(this.#sets, {
        added: (set) => this.#addReplicaSet(set),
        updated: (previous, set) => this.#updateReplicaSet(previous, set),
        deleted: (set) => {
          this.#written.sets.forget(keyOf(set));
          this.#enqueueOwnerOf(set);
        },
      }),
      changesOf(this.#pods, { deleted: (pod) => this.#deletePod(pod) }),
    ];
    const sync = (key: string) => this.#sync(key);
    return runSyncLoop({ name: NAME, trace: this.deps.trace, queue: this.#queue, sources, sync }, signal);
  }

  #ownerOf(set: ReplicaSet): Deployment | undefined {
    const ref = controllerOf(set);
    const { namespace } = set.metadata;
    return ref && resolveControllerRef("Deployment", ref, (name) => this.#deployments.get(namespace, name));
  }

  #enqueueOwnerOf(set: ReplicaSet): void {
    const owner = this.#ownerOf(set);
    if (owner !== undefined) this.#queue.add(keyOf(owner));
  }

  #addReplicaSet(set: ReplicaSet): void {
    if (controllerOf(set) !== undefined) this.#enqueueOwnerOf(set);
    else if (!isTerminating(set)) this.#addOrphan(set);
  }

  /** It may be adopted. Mirrors getDeploymentsForReplicaSet. */
  #addOrphan({ metadata }: ReplicaSet): void {
    if (Object.keys(metadata.labels ?? {}).length === 0) return;
    for (const deployment of this.#deployments.list()) {
      const selector = deployment.spec?.selector;
      if (deployment.metadata.namespace !== metadata.namespace || selectsAll(deployment)) continue;
      if (matchesSelector(selector, metadata.labels)) this.#queue.add(keyOf(deployment));
    }
  }

  #updateReplicaSet(previous: ReplicaSet, set: ReplicaSet): void {
    const controllerChanged = controllerOf(previous)?.uid !== controllerOf(set)?.uid;
    if (controllerChanged) this.#enqueueOwnerOf(previous);
    if (controllerOf(set) !== undefined) this.#enqueueOwnerOf(set);
    else if (controllerChanged || !sameJson(previous.metadata.labels ?? {}, set.metadata.labels ?? {})) {
      this.#addOrphan(set);
    }
  }

  /**
   * A Recreate rollout continues after the last old pod has ended.
   * Differs: upstream waits for pods that have ended, too, until the deadline of the rollout makes it look again.
   */
  #deletePod(pod: PodObject): void {
    const ref = controllerOf(pod);
    const { namespace } = pod.metadata;
    const set = ref && resolveControllerRef("ReplicaSet", ref, (name) => this.#sets.get(namespace, name));
    const owner = set && this.#ownerOf(set);
    if (owner?.spec?.strategy?.type !== "Recreate") return;
    const { uid } = owner.metadata;
    const sets = this.#sets.list().filter((one) => controllerOf(one)?.uid === uid);
    const hasEnded = this.#podsOf(owner, sets).every(({ status }) => isPodPhaseTerminal(status?.phase));
    if (hasEnded) this.#queue.add(keyOf(owner));
  }

  /** Mirrors getPodMapForDeployment. */
  #podsOf({ spec, metadata: { namespace } }: Deployment, sets: readonly ReplicaSet[]): PodObject[] {
    const uids = new Set(sets.map(({ metadata }) => metadata.uid));
    return this.#pods.list().filter((pod) => {
      if (pod.metadata.namespace !== namespace || !uids.has(controllerOf(pod)?.uid)) return false;
      return matchesSelector(spec?.selector, pod.metadata.labels);
    });
  }

  async #sync(key: string): Promise<void> {
    const deployment = this.#deployments.byKey(key);
    if (deployment === undefined) {
      this.#written.deployments.forget(key);
      return;
    }
    try {
      await this.#syncDeployment(key, this.#written.deployments.latest(deployment));
    } catch (error) {
      // Every creation fails until the namespace is gone, and the Deployment with it.
      if (!isNamespaceTerminating(error)) throw error;
    }
  }

  /** Mirrors syncDeployment. */
  async #syncDeployment(key: string, deployment: Deployment): Promise<void> {
    if (selectsAll(deployment)) return this.#refuse(deployment);
    const pass = new DeploymentPass(this.#passDeps, deployment, await this.#claimReplicaSets(deployment));
    if (isTerminating(deployment)) return syncStatusOnly(pass);
    await checkPausedConditions(pass);
    if (pass.deployment.spec?.paused === true || (await isScalingEvent(pass))) return syncSize(pass);
    await this.#rollOut(pass);
    const checkMs = progressCheckMs(pass.deployment, pass.nowMs);
    if (checkMs !== undefined) this.#queue.addAfter(key, checkMs);
  }

  async #rollOut(pass: DeploymentPass): Promise<void> {
    const { namespace } = pass.deployment.metadata;
    const sets = await syncRevision(pass);
    const create = () => createNewReplicaSet(pass, sets.oldSets, (name) => this.#sets.get(namespace, name));
    const { strategy } = pass.deployment.spec ?? {};
    if (strategy?.type !== "Recreate")
      return rolloutRolling(pass, { ...sets, newSet: sets.newSet ?? (await create()) });
    await rolloutRecreate(pass, sets, this.#podsOf(pass.deployment, pass.sets), create);
  }

  async #refuse(deployment: Deployment): Promise<void> {
    const pass = new DeploymentPass(this.#passDeps, deployment, []);
    pass.event("Warning", "SelectingAll", "This deployment is selecting all pods. A non-empty selector is required.");
    const { generation = 0 } = deployment.metadata;
    const { status = {} } = deployment;
    if ((status.observedGeneration ?? 0) >= generation) return;
    await pass.writeStatus({ ...status, observedGeneration: generation }, "syncDeployment");
  }

  /** Mirrors getReplicaSetsForDeployment. */
  #claimReplicaSets(deployment: Deployment): Promise<ReplicaSet[]> {
    const { spec, metadata } = deployment;
    const manager = new ControllerRefManager<ReplicaSet>(this.deps, {
      owner: deployment,
      ownerResource: DEPLOYMENTS,
      resource: REPLICA_SETS,
      matches: (set) => matchesSelector(spec?.selector, set.metadata.labels),
    });
    const sets = this.#sets.list().filter((set) => set.metadata.namespace === metadata.namespace);
    return manager.claim(sets.map((set) => this.#written.sets.latest(set)));
  }
}

function selectsAll({ spec }: Deployment): boolean {
  return semanticallyEqual(spec?.selector, {});
}
