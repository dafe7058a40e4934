/**
 * @typedef {object} Streams
 * @property {boolean} [stdin]
 * @property {boolean} [stdout]
 * @property {boolean} [stderr]
 * @property {boolean} [tty]
 */

// @stage path

// @stage query

/**
 * @param {{ namespace: string, pod: string, container?: string }} target
 * @param {string[]} command the command and its arguments
 * @param {Streams} streams
 * @returns {string} path and query; the server's address comes before it
 */
export function execUrl(target, command, streams) {
  throw new Error("execUrl is not written yet");
}

// @stage streams

/**
 * @param {Streams} streams
 * @returns {string[]} the SPDY streams that a client opens for them, in order
 */
export function streamsToOpen(streams) {
  throw new Error("streamsToOpen is not written yet");
}
