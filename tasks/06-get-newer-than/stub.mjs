/**
 * @typedef {{ status: unknown, error: unknown }} Cached what the runtime said of a pod; both may be undefined
 */

// @stage store

// @stage waits

// @stage all

export class PodCache {
  constructor() {
    throw new Error("PodCache is not written yet");
  }

  /**
   * @param {string} podUid
   * @returns {Cached} never waits; without an entry both are undefined
   */
  get(podUid) {}

  /**
   * @param {string} podUid
   * @param {unknown} status
   * @param {unknown} error
   * @param {number} timeMs when PLEG began to inspect the pod
   */
  set(podUid, status, error, timeMs) {}

  /** @param {string} podUid */
  delete(podUid) {}

  /**
   * Waits for a status that is newer than a moment.
   * @param {string} podUid
   * @param {number} minTimeMs
   * @returns {Promise<Cached>}
   */
  getNewerThan(podUid, minTimeMs) {}

  /**
   * PLEG has relisted: every entry is at least as new as this, also that of a pod that the runtime does not have.
   * @param {number} timeMs
   */
  updateTime(timeMs) {}
}
