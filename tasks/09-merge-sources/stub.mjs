/**
 * @typedef {object} Pod an ordinary API object; metadata.uid is its identity
 * @typedef {"ADD" | "UPDATE" | "DELETE" | "REMOVE" | "RECONCILE"} Operation
 */

// @stage sets

// @stage changes

// @stage sources

export class PodConfig {
  constructor() {
    throw new Error("PodConfig is not written yet");
  }

  /**
   * A source has sent all its pods.
   * @param {"file" | "http" | "api"} source
   * @param {Pod[]} pods
   * @returns {Partial<Record<Operation, string[]>>} the uids by operation, in the order of `pods`; operations without a pod may be missing
   */
  set(source, pods) {}
}
