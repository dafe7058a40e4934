// @stage pod

/**
 * @param {object} staticPod of a file; its annotation kubernetes.io/config.hash names its version
 * @param {{ name: string, uid: string }} node
 * @returns {object} the mirror pod, as it is sent to the API server; nothing of the static pod is lost
 */
export function mirrorPodOf(staticPod, node) {
  throw new Error("mirrorPodOf is not written yet");
}

// @stage decide

/**
 * @param {object} staticPod
 * @param {object | undefined} mirrorPod as the API server has it
 * @returns {"create" | "keep" | "replace"} replace: delete it, then create it again
 */
export function whatToDo(staticPod, mirrorPod) {
  throw new Error("whatToDo is not written yet");
}
