/**
 * @typedef {"Pending" | "Running" | "Succeeded" | "Failed"} PodPhase
 * @typedef {object} ContainerState at most one field is there
 * @property {object} [waiting]
 * @property {object} [running]
 * @property {{ exitCode: number }} [terminated]
 * @typedef {{ name: string, state?: ContainerState, lastState?: ContainerState }} ContainerStatus
 * @typedef {object} PodSpec
 * @property {"Always" | "OnFailure" | "Never"} [restartPolicy]
 * @property {{ name: string }[]} [initContainers]
 * @property {{ name: string }[]} containers
 */

// @stage running

// @stage ended

// @stage init

/**
 * @param {PodSpec} spec
 * @param {ContainerStatus[]} statuses of init and regular containers, in any order; a container may have none
 * @returns {PodPhase}
 */
export function getPhase(spec, statuses) {
  throw new Error("getPhase is not written yet");
}
