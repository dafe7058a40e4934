// @stage subject

/**
 * @param {string} nodeName
 * @returns {{ commonName: string, organization: string[] }}
 */
export function nodeSubject(nodeName) {
  throw new Error("nodeSubject is not written yet");
}

// @stage usages

/**
 * @param {"ec" | "rsa"} keyType
 * @returns {string[]} as of v1.27
 */
export function clientUsages(keyType) {
  throw new Error("clientUsages is not written yet");
}

// @stage object

/**
 * @param {string} requestPem the PKCS#10 request in PEM
 * @param {{ name?: string, usages: string[], signerName: string, expirationSeconds?: number }} options
 * @returns {object} the CertificateSigningRequest, as it is sent to the API server
 */
export function csrObject(requestPem, options) {
  throw new Error("csrObject is not written yet");
}
