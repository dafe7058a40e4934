/**
 * @typedef {{ containerId: string, state: "created" | "running" | "exited" | "unknown" }} Container
 * @typedef {{ podUid: string, containers: readonly Container[] }} Pod
 * @typedef {{ type: string, podUid: string, containerId: string }} PodLifecycleEvent
 *
 * @typedef {object} Runtime
 * @property {() => Promise<readonly Pod[]>} getPods all pods that the runtime has, dead ones too
 * @property {(podUid: string) => Promise<unknown>} getPodStatus
 *
 * @typedef {object} PodCache as in the task get-newer-than
 * @property {(podUid: string, status: unknown, error: string | undefined, timeMs: number) => void} set
 * @property {(podUid: string) => void} delete
 * @property {(timeMs: number) => void} updateTime
 */

/**
 * What the task generate-events is about, for all containers of a pod: use it.
 * @param {Pod | undefined} before the pod in an earlier list
 * @param {Pod | undefined} after the pod in this list
 * @returns {PodLifecycleEvent[]}
 */
function eventsOf(before, after) {
  const states = [before, after].map((pod) => new Map((pod?.containers ?? []).map((one) => [one.containerId, one.state])));
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

// @stage list

// @stage records

// @stage cache

// @stage failures

export class Relist {
  /**
   * @param {Runtime} runtime
   * @param {PodCache} cache
   * @param {{ now(): number }} clock Unix ms
   */
  constructor(runtime, cache, clock) {
    throw new Error("Relist is not written yet");
  }

  /** @returns {Promise<PodLifecycleEvent[]>} the events for the sync loop */
  async relist() {}
}
