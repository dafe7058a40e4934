import { createHash, type KeyObject } from "node:crypto";
import { publicKeyDer } from "../../staging/pki/keys.js";
import type { DistinguishedName } from "../../staging/pki/name.js";
import { LabError } from "../../util/errors.js";
import { factFor } from "../../util/release/facts.js";

const NODES_GROUP = "system:nodes";
const NODE_USER_PREFIX = "system:node:";
/** certificatesv1.KubeAPIServerClientKubeletSignerName */
export const KUBELET_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet";

/** The subject that a kubelet requests: the API server reads CN as the user and O as the groups. */
export function nodeSubject(nodeName: string): DistinguishedName {
  return { commonName: NODE_USER_PREFIX + nodeName, organization: [NODES_GROUP] };
}

/**
 * Mirrors requestNodeCertificate in pkg/kubelet/certificate/bootstrap/bootstrap.go: releases before v1.27 request the
 * key encipherment usage although an EC key cannot encipher.
 */
export function clientUsages(kubeVersion: string, key: KeyObject): readonly string[] {
  const always = factFor("kubeletCsrKeyEncipherment", kubeVersion) === "always";
  return always || key.asymmetricKeyType === "rsa"
    ? ["digital signature", "key encipherment", "client auth"]
    : ["digital signature", "client auth"];
}

/**
 * The name of the CSR: a digest of its key, subject and usages. A kubelet that was killed and starts again with the
 * same key computes the same name, and so finds its earlier request.
 *
 * Mirrors pkg/kubelet/certificate/bootstrap/bootstrap.go (digestedName).
 * @returns `node-csr-` and base64url (no padding) of a SHA-512/256 digest
 */
export function digestedName(key: KeyObject, subject: DistinguishedName, usages: readonly string[]): string {
  const hash = createHash("sha512-256");
  const parts = [
    publicKeyDer(key),
    ...[subject.commonName, ...subject.organization, ...usages].map((part) => Buffer.from(part)),
  ];
  // The delimiter is not in the base64url alphabet, so two different lists never produce the same stream.
  for (const part of parts) hash.update(`${part.toString("base64url")}|`);
  return `node-csr-${hash.digest("base64url")}`;
}

const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_NAME_LENGTH = 253;

/**
 * Checks a node name. Mirrors k8s.io/apimachinery/pkg/util/validation (IsDNS1123Subdomain).
 * @throws LabError USAGE
 */
export function checkNodeName(name: string): string {
  if (name.length <= MAX_NAME_LENGTH && DNS_SUBDOMAIN.test(name)) return name;
  const why =
    name === ""
      ? "it is empty"
      : name.length > MAX_NAME_LENGTH
        ? `it has ${name.length} characters, ${MAX_NAME_LENGTH} are allowed`
        : /[A-Z]/.test(name)
          ? "it has upper-case letters"
          : "it may contain only a-z, 0-9, '-' and '.', and each part must begin and end with a letter or digit";
  throw new LabError(
    "USAGE",
    `${JSON.stringify(name)} cannot be a node's name: ${why}`,
    "A node's name is an RFC 1123 subdomain, for example node-1 or node-1.example.org.",
  );
}
