export function calculateEffectiveGracePeriod(before, pod, override) {
  let seconds = before;
  for (const wish of [pod.deletionGracePeriodSeconds, override]) {
    if (wish !== undefined && (seconds === 0 || wish < seconds)) seconds = wish;
  }
  if (seconds === 0) seconds = pod.terminationGracePeriodSeconds ?? 0;
  seconds = Math.max(seconds, 1);
  return { gracePeriodSeconds: seconds, isShortened: before !== 0 && seconds !== before };
}

const ENDED = ["Succeeded", "Failed"];

export class PodWorker {
  #queue;
  #running;
  #waiting;
  #isCanceled = false;
  #phase = "syncing";
  #gracePeriodSeconds = 0;

  constructor(queue) {
    this.#queue = queue;
  }

  update({ type, pod, gracePeriodOverride }) {
    if (this.#phase === "finished") return undefined;
    if (this.#phase !== "syncing" && type === "create") return undefined;
    const ends = type === "kill" || pod.isDeleted === true || ENDED.includes(pod.phase);
    const endsNow = this.#phase === "syncing" && ends;
    if (endsNow) this.#phase = "terminating";
    const { work, isShortened = false } = this.#workFor(pod, gracePeriodOverride);
    if (this.#running === undefined) return this.#start(work);
    this.#waiting = work;
    if (endsNow || isShortened) this.#isCanceled = true;
    return undefined;
  }

  finish(outcome) {
    const { fn, rev } = this.#running;
    const isOk = outcome === "ok" || outcome === "terminal";
    this.#running = undefined;
    this.#isCanceled = false;
    if (isOk && fn === "syncTerminatedPod") {
      this.#phase = "finished";
      return undefined;
    }
    if (isOk && fn === "syncTerminatingPod") {
      this.#phase = "terminated";
      this.#waiting = { fn: "syncTerminatedPod", rev };
    } else if (outcome === "terminal") {
      this.#phase = "terminating";
      this.#waiting = { fn: "syncTerminatingPod", rev };
    }
    const isStep = isOk && (fn === "syncTerminatingPod" || outcome === "terminal");
    this.#queue.enqueue(isStep ? "now" : (DELAYS[outcome] ?? "backoff"));
    const next = this.#waiting;
    this.#waiting = undefined;
    return next === undefined ? undefined : this.#start(next);
  }

  isCanceled() {
    return this.#isCanceled;
  }

  #workFor(pod, override) {
    const { rev } = pod;
    if (this.#phase === "syncing") return { work: { fn: "syncPod", rev } };
    if (this.#phase === "terminated") return { work: { fn: "syncTerminatedPod", rev } };
    const { gracePeriodSeconds, isShortened } = calculateEffectiveGracePeriod(this.#gracePeriodSeconds, pod, override);
    this.#gracePeriodSeconds = gracePeriodSeconds;
    return { work: { fn: "syncTerminatingPod", rev, gracePeriodSeconds }, isShortened };
  }

  #start(work) {
    this.#running = work;
    return work;
  }
}

const DELAYS = { ok: "resync", networkNotReady: "transient" };
