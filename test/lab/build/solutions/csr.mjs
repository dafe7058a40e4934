export function nodeSubject(nodeName) {
  return { commonName: `system:node:${nodeName}`, organization: ["system:nodes"] };
}

export function clientUsages(keyType) {
  const usages = ["digital signature", "client auth"];
  if (keyType === "rsa") usages.splice(1, 0, "key encipherment");
  return usages;
}

export function csrObject(requestPem, { name, usages, signerName, expirationSeconds }) {
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: name === undefined ? { generateName: "csr-" } : { name },
    spec: { request: Buffer.from(requestPem).toString("base64"), signerName, usages, expirationSeconds },
  };
}
