import forge from "node-forge/lib/oids.js";

/** Object identifiers that node-forge does not know by the field's name. */
const MORE_OIDS = {
  ecPublicKey: "1.2.840.10045.2.1",
  prime256v1: "1.2.840.10045.3.1.7",
  secp384r1: "1.3.132.0.34",
  secp521r1: "1.3.132.0.35",
  ed25519: "1.3.101.112",
  ed448: "1.3.101.113",
  "ecdsa-with-SHA256": "1.2.840.10045.4.3.2",
  "ecdsa-with-SHA384": "1.2.840.10045.4.3.3",
  "ecdsa-with-SHA512": "1.2.840.10045.4.3.4",
  rsassaPss: "1.2.840.113549.1.1.10",
  userId: "0.9.2342.19200300.100.1.1",
  domainComponent: "0.9.2342.19200300.100.1.25",
  tlsFeature: "1.3.6.1.5.5.7.1.24",
  ipsecEndSystem: "1.3.6.1.5.5.7.3.5",
  ipsecTunnel: "1.3.6.1.5.5.7.3.6",
  ipsecUser: "1.3.6.1.5.5.7.3.7",
  OCSPSigning: "1.3.6.1.5.5.7.3.9",
  microsoftServerGatedCrypto: "1.3.6.1.4.1.311.10.3.3",
  netscapeServerGatedCrypto: "2.16.840.1.113730.4.1",
  anyExtendedKeyUsage: "2.5.29.37.0",
} as const;

/** Dotted object identifiers by name. */
export const OID = { ...forge, ...MORE_OIDS } as const;

const MORE_NAMES = new Map<string, string>(Object.entries(MORE_OIDS).map(([name, dotted]) => [dotted, name]));

/** `commonName` for `2.5.4.3`, as OpenSSL and the RFCs spell it; undefined for an unknown one. */
export function oidName(dotted: string): string | undefined {
  return MORE_NAMES.get(dotted) ?? forge[dotted];
}
