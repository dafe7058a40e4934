function eventsOf(before, after) {
  const states = [before, after].map(
    (pod) => new Map((pod?.containers ?? []).map((one) => [one.containerId, one.state])),
  );
  const podUid = (before ?? after).podUid;
  const ids = new Set([...states[0].keys(), ...states[1].keys()]);
  return [...ids].flatMap((containerId) => {
    const [was, is] = states.map((all) => (all.get(containerId) ?? "non-existent").replace("created", "unknown"));
    const types = was === is ? [] : TYPES[is].slice(is === "non-existent" && was === "exited" ? 1 : 0);
    return types.map((type) => ({ type, podUid, containerId }));
  });
}

const TYPES = {
  running: ["ContainerStarted"],
  exited: ["ContainerDied"],
  unknown: ["ContainerChanged"],
  "non-existent": ["ContainerDied", "ContainerRemoved"],
};

export class Relist {
  #runtime;
  #cache;
  #clock;
  #records = new Map();
  #podsToReinspect = new Set();

  constructor(runtime, cache, clock) {
    this.#runtime = runtime;
    this.#cache = cache;
    this.#clock = clock;
  }

  async relist() {
    const startMs = this.#clock.now();
    const pods = await this.#runtime.getPods().catch(() => undefined);
    if (pods === undefined) return [];
    const current = new Map(pods.map((pod) => [pod.podUid, pod]));
    const sent = [];
    const failed = new Set();
    for (const podUid of new Set([...this.#records.keys(), ...current.keys()])) {
      const pod = current.get(podUid);
      const events = eventsOf(this.#records.get(podUid), pod);
      if (events.length === 0) continue;
      if (!(await this.#updateCache(podUid, pod))) {
        failed.add(podUid);
        continue;
      }
      this.#podsToReinspect.delete(podUid);
      if (pod === undefined) this.#records.delete(podUid);
      else this.#records.set(podUid, pod);
      sent.push(...events.filter(({ type }) => type !== "ContainerChanged"));
    }
    for (const podUid of this.#podsToReinspect) {
      if (!(await this.#updateCache(podUid, { podUid }))) failed.add(podUid);
    }
    this.#cache.updateTime(startMs);
    this.#podsToReinspect = failed;
    return sent;
  }

  async #updateCache(podUid, pod) {
    if (pod === undefined) {
      this.#cache.delete(podUid);
      return true;
    }
    const timeMs = this.#clock.now();
    try {
      this.#cache.set(podUid, await this.#runtime.getPodStatus(podUid), undefined, timeMs);
      return true;
    } catch (error) {
      this.#cache.set(podUid, undefined, error.message, timeMs);
      return false;
    }
  }
}
