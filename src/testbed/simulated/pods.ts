import type { Controller } from "../../cluster/controllers/controller.js";
import { changesOf, runSyncLoop } from "../../cluster/controllers/support/sync-loop.js";
import { keyOf, splitKey } from "../../staging/apimachinery/api/object-key.js";
import type { PodObject } from "../../staging/apimachinery/api/objects.js";
import { asPod, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { StatusError } from "../../staging/apimachinery/errors.js";
import type { SharedReflector } from "../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../staging/client-go/workqueue.js";
import type { SimulatedNode } from "./node.js";
import { RETRIES, type SimulationDeps } from "./nodes.js";
import { nextStatus } from "./pod-status.js";
import { findStage, type Stage } from "./stage.js";

/** The stage that a pod waits for or has taken. */
interface Life {
  readonly uid: string;
  readonly stage: Stage | undefined;
}

/**
 * Takes the pods of simulated nodes through their stages. A pod takes a stage once, after the stage's delay; it takes the stage again
 * only after it has matched another one.
 */
export class SimulatedPodsController implements Controller {
  readonly name = "simulated-pods";

  constructor(
    readonly deps: SimulationDeps,
    readonly stages: readonly Stage[],
  ) {}

  run(signal: AbortSignal): Promise<void> {
    return new PodsRun(this.deps, this.stages).run(signal, this.name);
  }
}

class PodsRun {
  readonly #pods: SharedReflector<PodObject>;
  readonly #queue: WorkQueue;
  readonly #lives = new Map<string, Life>();

  constructor(
    readonly deps: SimulationDeps,
    readonly stages: readonly Stage[],
  ) {
    this.#pods = deps.reflectors.of<PodObject>("pods");
    this.#queue = new WorkQueue(deps.clock, RETRIES);
  }

  run(signal: AbortSignal, name: string): Promise<void> {
    const source = changesOf(this.#pods, {
      added: (pod) => this.#observe(pod),
      updated: (_previous, pod) => this.#observe(pod),
      deleted: (pod) => this.#forget(pod),
    });
    const sync = (key: string) => this.#play(key);
    return runSyncLoop({ name, trace: this.deps.trace, queue: this.#queue, sources: [source], sync }, signal);
  }

  #nodeOf({ spec }: PodObject): SimulatedNode | undefined {
    return this.deps.nodes.get(spec?.nodeName ?? "");
  }

  #observe(object: PodObject): void {
    const node = this.#nodeOf(object);
    const pod = node && asPod(object);
    if (pod === undefined || node === undefined) return;
    const [key, { uid }] = [keyOf(pod), pod.metadata];
    if (pod.status.podIP !== undefined && pod.spec.hostNetwork !== true) node.podIp(uid, pod.status.podIP);
    const stage = findStage(this.stages, pod);
    const life = this.#lives.get(key);
    if (life?.uid === uid && life.stage === stage) return;
    this.#lives.set(key, { uid, stage });
    this.#queue.cancel(key);
    if (stage === undefined) return;
    const { durationMs, jitterMs } = stage.delay;
    this.#queue.addAfter(key, durationMs + jitterMs * this.deps.random.float());
  }

  #forget(pod: PodObject): void {
    const key = keyOf(pod);
    if (this.#lives.get(key)?.uid !== pod.metadata.uid) return;
    this.#lives.delete(key);
    this.#queue.cancel(key);
    this.#nodeOf(pod)?.release(pod.metadata.uid ?? "");
  }

  /** Writes the pod's status after its stage. */
  async #play(key: string): Promise<void> {
    const life = this.#lives.get(key);
    const { client } = this.deps;
    const { namespace, name } = splitKey(key);
    if (life?.stage === undefined) return;
    const { uid, stage } = life;
    if (stage.next.delete !== true) {
      await client.modify<PodObject>("pods", namespace, name, (pod) => this.#next(pod, life), "status");
      return;
    }
    try {
      await client.delete("pods", namespace, name, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      // It is another pod of the same name.
      if (!(error instanceof StatusError) || error.reason !== "Conflict") throw error;
    }
  }

  /** @returns the same object if the stage changes nothing, or if another pod has the name now */
  #next(object: PodObject, { uid, stage }: Life): PodObject {
    const node = this.#nodeOf(object);
    const pod = asPod(object);
    if (pod === undefined || node === undefined || stage === undefined || pod.metadata.uid !== uid) return object;
    const podIp = pod.spec.hostNetwork === true ? node.address : node.podIp(uid);
    const status = nextStatus(pod, stage.next, { hostIp: node.address, podIp }, this.deps.clock.now());
    return status === undefined ? object : withStatus(object, status);
  }
}

function withStatus(pod: PodObject, change: Partial<V1Pod["status"]>): PodObject {
  return { ...pod, status: { ...pod.status, ...change } } as PodObject;
}
