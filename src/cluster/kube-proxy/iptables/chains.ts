import { createHash } from "node:crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HASH_LENGTH = 16;

/**
 * The chain of a Service's port for all endpoints: `KUBE-SVC-` and a hash; for the endpoints of the node: `KUBE-SVL-`.
 * Mirrors servicePortPolicyClusterChain and servicePortPolicyLocalChainName in pkg/proxy/iptables/proxier.go.
 * @param name `default/web:http`
 */
export function serviceChain(kind: "SVC" | "SVL", name: string, protocol: string): string {
  const hash = createHash("sha256").update(`${name}${protocol.toLowerCase()}`).digest();
  return `KUBE-${kind}-${base32(hash).slice(0, HASH_LENGTH)}`;
}

/** RFC 4648, without padding. */
function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five, 2)]).join("");
}
