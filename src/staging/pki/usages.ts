import { childrenOf, contentOf, type DerNode, oidOf } from "./der.js";
import { bitString, oid, sequence } from "./der-write.js";
import { OID } from "./oids.js";

/** Usages of a CertificateSigningRequest that become bits of the key usage extension. */
const KEY_USAGE_BITS: Readonly<Record<string, number>> = {
  signing: 0,
  "digital signature": 0,
  "content commitment": 1,
  "key encipherment": 2,
  "data encipherment": 3,
  "key agreement": 4,
  "cert sign": 5,
  "crl sign": 6,
  "encipher only": 7,
  "decipher only": 8,
};

/** Usages that become extended key usages, in the order of Go's constants. */
const EXTENDED_KEY_USAGE_OIDS: Readonly<Record<string, string>> = {
  any: OID.anyExtendedKeyUsage,
  "server auth": OID.serverAuth,
  "client auth": OID.clientAuth,
  "code signing": OID.codeSigning,
  "email protection": OID.emailProtection,
  "s/mime": OID.emailProtection,
  "ipsec end system": OID.ipsecEndSystem,
  "ipsec tunnel": OID.ipsecTunnel,
  "ipsec user": OID.ipsecUser,
  timestamping: OID.timeStamping,
  "ocsp signing": OID.OCSPSigning,
  "microsoft sgc": OID.microsoftServerGatedCrypto,
  "netscape sgc": OID.netscapeServerGatedCrypto,
};

/** Every usage of the certificates API, in the order of its error texts. */
export const ALL_USAGES: readonly string[] = [
  ...Object.keys(KEY_USAGE_BITS),
  ...Object.keys(EXTENDED_KEY_USAGE_OIDS),
].sort();

/** Usages of the API, split by the extension of a certificate that holds them. */
export interface SplitUsages {
  /** bit numbers of the key usage extension, ascending */
  readonly keyUsageBits: readonly number[];
  /** OIDs of the extended key usage extension */
  readonly extendedKeyUsageOids: readonly string[];
  readonly unrecognized: readonly string[];
}

/** Mirrors pkg/controller/certificates/authority/policies.go (keyUsagesFromStrings). */
export function splitUsages(usages: readonly string[]): SplitUsages {
  const bits = new Set<number>();
  const asked = new Set<string>();
  const unrecognized: string[] = [];
  for (const usage of usages) {
    const bit = KEY_USAGE_BITS[usage];
    const extended = EXTENDED_KEY_USAGE_OIDS[usage];
    if (bit !== undefined) bits.add(bit);
    else if (extended !== undefined) asked.add(extended);
    else unrecognized.push(usage);
  }
  const order = [...new Set(Object.values(EXTENDED_KEY_USAGE_OIDS))];
  return {
    keyUsageBits: [...bits].sort((a, b) => a - b),
    extendedKeyUsageOids: order.filter((dotted) => asked.has(dotted)),
    unrecognized,
  };
}

/** The key usage extension's value: a BIT STRING without trailing zero bits. */
export function encodeKeyUsage(bits: readonly number[]): DerNode {
  const highest = Math.max(...bits);
  const bytes = Buffer.alloc(Math.floor(highest / 8) + 1);
  for (const bit of bits) {
    const index = Math.floor(bit / 8);
    bytes[index] = (bytes[index] ?? 0) | (0x80 >> (bit % 8));
  }
  return bitString(bytes, 7 - (highest % 8));
}

/** The extended key usage extension's value. @param oids dotted */
export function encodeExtendedKeyUsage(oids: readonly string[]): DerNode {
  return sequence(...oids.map((dotted) => oid(dotted)));
}

/** Names of the set bits of a key usage BIT STRING: `digital signature`, … */
export function keyUsageNames(node: DerNode): string[] {
  const bytes = contentOf(node).subarray(1);
  const names = Object.entries(KEY_USAGE_BITS).filter(([name]) => name !== "signing");
  return names
    .filter(([, bit]) => ((bytes[Math.floor(bit / 8)] ?? 0) & (0x80 >> (bit % 8))) !== 0)
    .map(([name]) => name);
}

/** Names of the members of an extended key usage SEQUENCE; an unknown one stays an OID. */
export function extendedKeyUsageNames(node: DerNode): string[] {
  return childrenOf(node).map((child) => {
    const dotted = oidOf(child);
    return Object.entries(EXTENDED_KEY_USAGE_OIDS).find(([, known]) => known === dotted)?.[0] ?? dotted;
  });
}
