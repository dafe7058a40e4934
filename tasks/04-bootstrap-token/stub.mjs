/**
 * @typedef {{ id: string, secret: string }} BootstrapToken
 * @typedef {object} Settings
 * @property {string} [expiration] RFC 3339 in UTC; without it the token never expires
 * @property {("authentication" | "signing")[]} usages
 * @property {string[]} groups
 */

// @stage parse

/**
 * @param {string} text what a user has typed
 * @returns {BootstrapToken}
 */
export function parseToken(text) {
  throw new Error("parseToken is not written yet");
}

// @stage secret

/**
 * @param {BootstrapToken} token
 * @param {Settings} settings
 * @returns {object} the Secret, as it is sent to the API server
 */
export function tokenSecret(token, settings) {
  throw new Error("tokenSecret is not written yet");
}

// @stage expired

/**
 * @param {object} secret as the API server has it
 * @param {number} nowMs Unix ms
 * @returns {boolean} whether the token cleaner deletes it now
 */
export function isExpired(secret, nowMs) {
  throw new Error("isExpired is not written yet");
}
