import { asPod, type V1Pod } from "../../apimachinery/api/pod.js";
import { type ReflectDeps, reflect } from "../../client-go/cache/reflect.js";
import type { KubeRequest } from "../../client-go/rest/client.js";
import { collectionPath, objectPath, PODS } from "../../client-go/rest/paths.js";
import type { Timer } from "../../util/clock.js";
import { isAbortError, messageOf } from "../../util/errors.js";
import type { SimulatedNode } from "./node.js";
import { nextStatus } from "./pod-status.js";
import { findStage, type Stage } from "./stage.js";

/** How many writes run at a time: more would only wait for the API server. */
const WRITES_AT_A_TIME = 32;
const RETRY_MS = 1_000;

interface Life {
  pod: V1Pod;
  stage: Stage | undefined;
  timer: Timer | undefined;
}

/**
 * Takes the pods of simulated nodes through their stages. A pod takes a stage once, after the stage's delay; it takes the stage again
 * only after it has matched another one.
 */
export class SimulatedPods {
  /** by UID */
  readonly #lives = new Map<string, Life>();
  /** pods whose stage is due */
  readonly #due = new Set<Life>();
  #writes = 0;

  constructor(
    readonly deps: ReflectDeps,
    readonly nodes: ReadonlyMap<string, SimulatedNode>,
    readonly stages: readonly Stage[],
  ) {}

  /** Runs until `signal` aborts. @throws LabError UNAUTHORIZED, FORBIDDEN */
  async run(signal: AbortSignal): Promise<void> {
    const options = { path: collectionPath(PODS), fieldSelector: "spec.nodeName!=" };
    try {
      for await (const event of reflect(this.deps, options, signal)) {
        if (event.type === "init") continue;
        if (event.type === "initDone") {
          const uids = new Set(event.objects.map(({ metadata }) => metadata.uid));
          for (const uid of [...this.#lives.keys()]) if (!uids.has(uid)) this.#forget(uid);
        } else if (event.type === "deleted") this.#forget(event.object.metadata.uid ?? "");
        else {
          const pod = asPod(event.object);
          const node = this.nodes.get(pod?.spec.nodeName ?? "");
          if (pod !== undefined && node !== undefined) {
            this.deps.trace.because(event, () => this.#observe(pod, node, signal));
          }
        }
      }
    } finally {
      for (const uid of [...this.#lives.keys()]) this.#forget(uid);
    }
  }

  #observe(pod: V1Pod, node: SimulatedNode, signal: AbortSignal): void {
    const { uid } = pod.metadata;
    if (pod.status.podIP !== undefined && pod.spec.hostNetwork !== true) node.podIp(uid, pod.status.podIP);
    const life = this.#lives.get(uid) ?? { pod, stage: undefined, timer: undefined };
    this.#lives.set(uid, life);
    life.pod = pod;
    const stage = findStage(this.stages, pod);
    if (stage === life.stage) return;
    this.#stop(life);
    life.stage = stage;
    if (stage === undefined) return;
    const { durationMs, jitterMs } = stage.delay;
    this.#after(life, durationMs + jitterMs * this.deps.random.float(), signal);
  }

  #after(life: Life, ms: number, signal: AbortSignal): void {
    life.timer = this.deps.clock.timer(ms, () => {
      this.#due.add(life);
      this.#writeDue(signal);
    });
  }

  #writeDue(signal: AbortSignal): void {
    for (const life of this.#due) {
      if (this.#writes >= WRITES_AT_A_TIME || signal.aborted) return;
      this.#due.delete(life);
      this.#writes++;
      void this.#play(life, signal).finally(() => {
        this.#writes--;
        this.#writeDue(signal);
      });
    }
  }

  /** Writes what the pod's stage makes of it. A refused write is tried again, unless the pod has changed or is gone. */
  async #play(life: Life, signal: AbortSignal): Promise<void> {
    const { stage, pod } = life;
    const request = stage === undefined ? undefined : this.#request(stage, pod);
    if (request === undefined) return;
    let failure: string;
    try {
      const { status } = await this.deps.client.request({ ...request, signal });
      if (status < 400 || status === 404) return;
      failure = `${request.method} ${request.path}: ${status}`;
    } catch (error) {
      if (signal.aborted || isAbortError(error)) return;
      failure = messageOf(error);
    }
    const fact = {
      kind: "error",
      message: `stage ${stage?.name}: ${failure}`,
      hint: "It is tried again in 1 s.",
    } as const;
    this.deps.trace.emit(fact, { actor: "kubelet", level: 2 });
    const isCurrent = life.stage === stage && this.#lives.get(pod.metadata.uid) === life;
    if (isCurrent) this.#after(life, RETRY_MS, signal);
  }

  #request({ next }: Stage, pod: V1Pod): KubeRequest | undefined {
    const { name, namespace, uid } = pod.metadata;
    const ref = { ...PODS, namespace };
    if (next.delete === true) {
      const body = { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0, preconditions: { uid } };
      return { method: "DELETE", path: objectPath(ref, name), body };
    }
    const node = this.nodes.get(pod.spec.nodeName ?? "");
    if (node === undefined) return undefined;
    const podIp = pod.spec.hostNetwork === true ? node.address : node.podIp(uid);
    const status = nextStatus(pod, next, { hostIp: node.address, podIp }, this.deps.clock.now());
    if (status === undefined) return undefined;
    return {
      method: "PATCH",
      path: objectPath(ref, name, "status"),
      contentType: "application/strategic-merge-patch+json",
      body: { metadata: { uid }, status },
    };
  }

  #stop(life: Life): void {
    life.timer?.stop();
    this.#due.delete(life);
  }

  #forget(uid: string): void {
    const life = this.#lives.get(uid);
    if (life === undefined) return;
    this.#stop(life);
    this.#lives.delete(uid);
    this.nodes.get(life.pod.spec.nodeName ?? "")?.release(uid);
  }
}
