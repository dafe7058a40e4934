/**
 * @typedef {{ renew(): Promise<"created" | "renewed" | "failed"> }} Node its renew is one round, as in the task lease-loop
 * @typedef {{ now(): number, sleep(ms: number): Promise<void> }} Clock Unix ms; sleep throws an AbortError when the kubelet stops
 */

// @stage rhythm

// @stage jitter

// @stage slow

// @stage away

/**
 * Keeps the Lease of a node until the kubelet stops.
 * @param {Node} node
 * @param {Clock} clock
 * @param {{ leaseDurationSeconds: number }} options
 * @param {() => number} [random] a number from 0 to 1, without 1; missing: no jitter
 * @returns {Promise<never>}
 */
export async function keepLease(node, clock, options, random) {
  throw new Error("keepLease is not written yet");
}
