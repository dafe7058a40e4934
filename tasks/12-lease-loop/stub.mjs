/**
 * @typedef {object} Answer
 * @property {number} status of HTTP: 200, 201, 404, 409, 500
 * @property {object} [lease] as the API server has it now, after 200 and 201
 *
 * @typedef {object} LeaseClient of the leases in kube-node-lease
 * @property {(name: string) => Promise<Answer>} get
 * @property {(lease: object) => Promise<Answer>} create
 * @property {(lease: object) => Promise<Answer>} update
 *
 * @typedef {{ now(): number, sleep(ms: number): Promise<void> }} Clock Unix ms; sleep throws an AbortError when the kubelet stops
 */

// @stage create

// @stage renew

// @stage conflict

// @stage refused

export class LeaseController {
  /**
   * @param {LeaseClient} client
   * @param {Clock} clock
   * @param {{ nodeName: string, leaseDurationSeconds: number }} options
   */
  constructor(client, clock, options) {
    throw new Error("LeaseController is not written yet");
  }

  /**
   * One round: makes sure that the Lease is there, and renewed now.
   * @returns {Promise<"created" | "renewed" | "failed">}
   */
  async sync() {}
}
