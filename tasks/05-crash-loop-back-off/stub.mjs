/**
 * The back-off of all containers of a node, by key.
 */

// @stage grows

// @stage waits

// @stage forgets

export class Backoff {
  /**
   * @param {{ now(): number }} clock Unix ms
   * @param {{ initialMs: number, maxMs: number }} options for containers: 10 s and 5 minutes
   */
  constructor(clock, options) {
    throw new Error("Backoff is not written yet");
  }

  /**
   * @param {string} id
   * @returns {number} the wait of this id in ms; 0 if it has none
   */
  get(id) {}

  /**
   * Notes that the container is started again.
   * @param {string} id
   * @param {number} eventTimeMs when it ended, Unix ms
   */
  next(id, eventTimeMs) {}

  /**
   * @param {string} id
   * @param {number} eventTimeMs when the container ended, Unix ms
   * @returns {boolean} whether it must still wait
   */
  isInBackOffSince(id, eventTimeMs) {}
}
