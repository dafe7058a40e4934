/**
 * @typedef {object} Pod what a worker looks at
 * @property {string} rev the version of the object
 * @property {boolean} [isDeleted] it has a deletionTimestamp
 * @property {string} [phase] as in its status
 * @property {number} [deletionGracePeriodSeconds] what the deletion asks for
 * @property {number} [terminationGracePeriodSeconds] what its spec asks for
 *
 * @typedef {object} Update
 * @property {"create" | "update" | "sync" | "kill"} type
 * @property {Pod} pod
 * @property {number} [gracePeriodOverride] seconds; the kubelet itself asks for it, for example at an eviction
 *
 * @typedef {object} Work what the worker does with a pod
 * @property {"syncPod" | "syncTerminatingPod" | "syncTerminatedPod"} fn
 * @property {string} rev the version of the pod that it is for
 * @property {number} [gracePeriodSeconds] only for syncTerminatingPod
 *
 * @typedef {"ok" | "terminal" | "error" | "networkNotReady" | "canceled"} Outcome
 *   how work ended; terminal: syncPod found that the pod has run to its end
 *
 * @typedef {object} WorkQueue looks at the pod again, later: it then sends an update of type sync
 * @property {(delay: "now" | "resync" | "backoff" | "transient") => void} enqueue
 */

// @stage grace

/**
 * @param {number} before seconds chosen earlier; 0: none
 * @param {Pod} pod
 * @param {number} [override] seconds
 * @returns {{ gracePeriodSeconds: number, isShortened: boolean }} isShortened: another period was chosen before
 */
export function calculateEffectiveGracePeriod(before, pod, override) {
  throw new Error("calculateEffectiveGracePeriod is not written yet");
}

// @stage queue

// @stage requeue

// @stage end

// @stage steps

export class PodWorker {
  /** @param {WorkQueue} queue needed from the stage about it on */
  constructor(queue) {
    throw new Error("PodWorker is not written yet");
  }

  /**
   * @param {Update} update
   * @returns {Work | undefined} the work that starts now
   */
  update(update) {}

  /**
   * The work that runs is over.
   * @param {Outcome} outcome
   * @returns {Work | undefined} the work that starts now
   */
  finish(outcome) {}

  /** @returns {boolean} the work that runs is told to stop; whoever runs it calls finish when it has */
  isCanceled() {}
}
