/**
 * @typedef {object} RankedPod
 * @property {string} name
 * @property {number} priority
 * @property {number} request bytes of memory that it requests
 * @property {number} [usage] bytes of memory that it uses; missing: there are no statistics of it yet
 */

// @stage exceeds

// @stage order

/**
 * @param {RankedPod[]} pods of a node whose memory is short
 * @returns {string[]} their names, in the order in which they are evicted
 */
export function rankMemoryPressure(pods) {
  throw new Error("rankMemoryPressure is not written yet");
}
