// @stage interval

/**
 * @param {number} leaseDurationSeconds `nodeLeaseDurationSeconds` of the kubelet's configuration: 40
 * @returns {number} milliseconds between two renewals
 */
export function renewInterval(leaseDurationSeconds) {
  throw new Error("renewInterval is not written yet");
}

// @stage backoff

/**
 * @param {number | undefined} lastMs how long the last wait took, in milliseconds; undefined before the first
 * @returns {number} how long to wait now, in milliseconds
 */
export function nextBackoff(lastMs) {
  throw new Error("nextBackoff is not written yet");
}

// @stage jitter

/**
 * @param {number} ms
 * @param {number} factor the most that is added, as a part of `ms`: 0.04
 * @param {() => number} random a number from 0 to 1, without 1
 * @returns {number} milliseconds
 */
export function jitter(ms, factor, random) {
  throw new Error("jitter is not written yet");
}
