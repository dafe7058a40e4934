export class PodCache {
  #pods = new Map();
  #waiting = [];
  #allMs = -Infinity;

  get(podUid) {
    const { status, error } = this.#pods.get(podUid) ?? {};
    return { status, error };
  }

  set(podUid, status, error, timeMs) {
    this.#pods.set(podUid, { status, error, timeMs });
    this.#release((one) => one.podUid === podUid && one.minTimeMs <= timeMs);
  }

  delete(podUid) {
    this.#pods.delete(podUid);
  }

  getNewerThan(podUid, minTimeMs) {
    const entry = this.#pods.get(podUid);
    const isReady = this.#allMs > minTimeMs || (entry !== undefined && entry.timeMs > minTimeMs);
    if (isReady) return Promise.resolve(this.get(podUid));
    return new Promise((resolve) => this.#waiting.push({ podUid, minTimeMs, resolve }));
  }

  updateTime(timeMs) {
    this.#allMs = timeMs;
    this.#release((one) => one.minTimeMs <= timeMs);
  }

  #release(isDue) {
    const due = this.#waiting.filter(isDue);
    this.#waiting = this.#waiting.filter((one) => !due.includes(one));
    for (const { podUid, resolve } of due) resolve(this.get(podUid));
  }
}
