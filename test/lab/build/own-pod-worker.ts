import { calculateEffectiveGracePeriod } from "../../../src/kubelet/podworkers/grace-period.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { type Call, PodWorkersStage, type Step } from "../../golden/podworkers.js";

const UID = "p1";

interface WorkerPod {
  readonly rev: string;
  readonly isDeleted?: boolean;
  readonly phase?: V1Pod["status"]["phase"];
  readonly deletionGracePeriodSeconds?: number;
  readonly terminationGracePeriodSeconds?: number;
}

interface WorkerUpdate {
  readonly type: "create" | "update" | "sync" | "kill";
  readonly pod: WorkerPod;
  readonly gracePeriodOverride?: number;
}

/** kubelab's workers are for all pods, and call their sync functions themselves. */
export class OwnPodWorker {
  readonly #stage = new PodWorkersStage();

  constructor(readonly queue: { enqueue(delay: string): void }) {}

  async update({ type, pod, gracePeriodOverride }: WorkerUpdate) {
    const { isDeleted = false, ...fields } = pod;
    const whole = { uid: UID, name: "web", namespace: "default", ...fields, deletionTimestampSet: isDeleted };
    return await this.#play({
      op: "update",
      type,
      pod: whole,
      kill: { gracePeriodOverride: gracePeriodOverride ?? null },
      expect: {},
    });
  }

  finish = async (outcome: string) => await this.#play({ op: "finish", uid: UID, outcome, expect: {} });

  isCanceled = () => this.#stage.inFlight.get(UID)?.signal.aborted === true;

  async #play(step: Step) {
    await this.#stage.play(step);
    for (const { delay } of this.#stage.enqueued) this.queue.enqueue(delay);
    return this.#stage.calls.map(workOf).at(0);
  }
}

/** The wishes of kubelab's are in the pod and in the options of a kill. */
export function ownGracePeriod(before: number, pod: WorkerPod, override?: number) {
  const { deletionGracePeriodSeconds, terminationGracePeriodSeconds } = pod;
  const whole = { metadata: { deletionGracePeriodSeconds }, spec: { terminationGracePeriodSeconds } };
  const options = override === undefined ? {} : { podTerminationGracePeriodSecondsOverride: override };
  return calculateEffectiveGracePeriod(before, whole as unknown as V1Pod, options);
}

function workOf({ fn, rev, gracePeriod }: Call) {
  return { fn, rev, gracePeriodSeconds: gracePeriod };
}
