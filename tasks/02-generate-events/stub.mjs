/**
 * @typedef {"running" | "exited" | "unknown" | "non-existent"} PlegContainerState
 * @typedef {"ContainerStarted" | "ContainerDied" | "ContainerRemoved" | "ContainerChanged"} PodLifecycleEventType
 * @typedef {{ podUid: string, containerId: string }} Ref
 * @typedef {{ type: PodLifecycleEventType, podUid: string, containerId: string }} PodLifecycleEvent
 */

// @stage state

/**
 * @param {"created" | "running" | "exited" | "unknown"} state of a container, as the runtime reports it
 * @returns {PlegContainerState}
 */
export function convertState(state) {
  throw new Error("convertState is not written yet");
}

// @stage events

/**
 * @param {Ref} ref the pod and the container
 * @param {PlegContainerState} before its state in the last list
 * @param {PlegContainerState} after its state in this list
 * @returns {readonly PodLifecycleEvent[]}
 */
export function generateEvents(ref, before, after) {
  throw new Error("generateEvents is not written yet");
}

// @stage worthy

/**
 * @param {PodLifecycleEvent} event
 * @returns {boolean} whether the sync loop syncs the pod because of it
 */
export function isSyncPodWorthy(event) {
  throw new Error("isSyncPodWorthy is not written yet");
}
