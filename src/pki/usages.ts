import { type DerNode, derChildren, oidText } from "./der.js";
import { bitString, oid, sequence } from "./der-write.js";

/** The usages that a CertificateSigningRequest may ask for and that become bits of the key usage extension. */
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

/** Those that become extended key usages, in the order in which Go numbers (and so writes) them. */
const EXTENDED_KEY_USAGE_OIDS: Readonly<Record<string, string>> = {
  any: "2.5.29.37.0",
  "server auth": "1.3.6.1.5.5.7.3.1",
  "client auth": "1.3.6.1.5.5.7.3.2",
  "code signing": "1.3.6.1.5.5.7.3.3",
  "email protection": "1.3.6.1.5.5.7.3.4",
  "s/mime": "1.3.6.1.5.5.7.3.4",
  "ipsec end system": "1.3.6.1.5.5.7.3.5",
  "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
  "ipsec user": "1.3.6.1.5.5.7.3.7",
  timestamping: "1.3.6.1.5.5.7.3.8",
  "ocsp signing": "1.3.6.1.5.5.7.3.9",
  "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
  "netscape sgc": "2.16.840.1.113730.4.1",
};

/** Every usage of the certificates API, sorted as its error texts list them. */
export const ALL_USAGES: readonly string[] = [
  ...Object.keys(KEY_USAGE_BITS),
  ...Object.keys(EXTENDED_KEY_USAGE_OIDS),
].sort();

/** Usages of the API, split into what the two extensions of a certificate hold. */
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
export function encodeKeyUsage(bits: readonly number[]): Buffer {
  const highest = Math.max(...bits);
  const bytes = Buffer.alloc(Math.floor(highest / 8) + 1);
  for (const bit of bits) {
    const index = Math.floor(bit / 8);
    bytes[index] = (bytes[index] ?? 0) | (0x80 >> (bit % 8));
  }
  return bitString(bytes, 7 - (highest % 8));
}

/** The DER value of the extension. @param oids dotted */
export function encodeExtendedKeyUsage(oids: readonly string[]): Buffer {
  return sequence(...oids.map((dotted) => oid(dotted)));
}

/** Names of the set bits of a key usage BIT STRING: `digital signature`, … */
export function keyUsageNames(node: DerNode): string[] {
  const bytes = node.content.subarray(1);
  const names = Object.entries(KEY_USAGE_BITS).filter(([name]) => name !== "signing");
  return names
    .filter(([, bit]) => ((bytes[Math.floor(bit / 8)] ?? 0) & (0x80 >> (bit % 8))) !== 0)
    .map(([name]) => name);
}

/** Names of the members of an extended key usage SEQUENCE; an unknown one stays an OID. */
export function extendedKeyUsageNames(node: DerNode): string[] {
  return derChildren(node).map((child) => {
    const dotted = oidText(child.content);
    return Object.entries(EXTENDED_KEY_USAGE_OIDS).find(([, known]) => known === dotted)?.[0] ?? dotted;
  });
}
