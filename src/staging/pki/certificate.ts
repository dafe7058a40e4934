import { rfc3339 } from "../apimachinery/time.js";
import {
  bitStringBytes,
  childrenOf,
  contentOf,
  DerError,
  type DerNode,
  encodeDer,
  expectEnd,
  isContext,
  isUniversal,
  readDer,
  Tag,
  timeMs,
} from "./der.js";
import { type Extension, extensionValue, parseExtensions } from "./extensions.js";
import { type DistinguishedName, parseName } from "./name.js";
import { OID } from "./oids.js";
import { decodePem } from "./pem.js";
import { NO_SANS, parseSans, type SubjectAltNames } from "./sans.js";
import { algorithmOid, signatureProblem } from "./signature.js";
import { extendedKeyUsageNames, keyUsageNames } from "./usages.js";

/** A parsed X.509 certificate. Mirrors the fields of Go's x509.Certificate that Kubernetes uses. */
export interface Certificate {
  readonly der: Buffer;
  /** lower-case hexadecimal, without leading zeros */
  readonly serialHex: string;
  readonly issuer: DistinguishedName;
  readonly issuerDer: Buffer;
  readonly subject: DistinguishedName;
  readonly subjectDer: Buffer;
  /** Unix ms */
  readonly notBeforeMs: number;
  /** Unix ms; the certificate is valid until the end of this second */
  readonly notAfterMs: number;
  readonly spkiDer: Buffer;
  readonly extensions: readonly Extension[];
  readonly sans: SubjectAltNames;
  readonly isCa: boolean;
  /** names of the certificates API: `digital signature`, `key encipherment` */
  readonly keyUsages: readonly string[];
  /** `client auth`, `server auth`; an OID where the API has no name */
  readonly extendedKeyUsages: readonly string[];
  readonly subjectKeyId: Buffer | undefined;
  readonly authorityKeyId: Buffer | undefined;
  readonly signedDer: Buffer;
  readonly signatureAlgorithm: string;
  readonly signature: Buffer;
}

/**
 * Parses the first CERTIFICATE block.
 * @throws DerError when there is no such block, or it is damaged
 */
export function parseCertificatePem(pem: string): Certificate {
  const block = decodePem(pem).find(({ type }) => type === "CERTIFICATE");
  if (block === undefined) throw new DerError("no CERTIFICATE block in this PEM", 0);
  return parseCertificate(block.der);
}

/** @throws DerError */
export function parseCertificate(der: Buffer): Certificate {
  const outer = readDer(der);
  const [signed, algorithm, signature] = isUniversal(outer, Tag.SEQUENCE) ? childrenOf(outer) : [];
  if (!isUniversal(signed, Tag.SEQUENCE) || !isUniversal(signature, Tag.BITSTRING)) {
    throw new DerError("x509: malformed certificate", 0);
  }
  expectEnd(outer, der);
  const fields = childrenOf(signed);
  // The version is optional: a v1 certificate begins with its serial number.
  const [serial, , issuer, validity, subject, spki, ...rest] = isContext(fields[0], 0) ? fields.slice(1) : fields;
  if (serial === undefined || issuer === undefined || validity === undefined || subject === undefined) {
    throw new DerError("x509: malformed tbs certificate", 0);
  }
  if (!isUniversal(spki, Tag.SEQUENCE)) throw new DerError("x509: malformed spki", 0);
  const [notBefore, notAfter] = childrenOf(validity).map(timeMs);
  if (notBefore === undefined || notAfter === undefined) {
    throw new DerError("x509: malformed validity", 0);
  }
  const extensions = childrenOf(rest.find((one) => isContext(one, 3))).flatMap(parseExtensions);
  return {
    der,
    serialHex: contentOf(serial)
      .toString("hex")
      .replace(/^(?:00)+(?=..)/, ""),
    issuer: parseName(issuer),
    issuerDer: encodeDer(issuer),
    subject: parseName(subject),
    subjectDer: encodeDer(subject),
    notBeforeMs: notBefore,
    notAfterMs: notAfter,
    spkiDer: encodeDer(spki),
    extensions,
    ...extensionFacts(extensions),
    signedDer: encodeDer(signed),
    signatureAlgorithm: algorithmOid(algorithm),
    signature: bitStringBytes(signature),
  };
}

type ExtensionFacts = Pick<
  Certificate,
  "sans" | "isCa" | "keyUsages" | "extendedKeyUsages" | "subjectKeyId" | "authorityKeyId"
>;

function extensionFacts(extensions: readonly Extension[]): ExtensionFacts {
  const read = <T>(dotted: string, parse: (node: DerNode) => T): T | undefined => {
    const value = extensionValue(extensions, dotted);
    return value === undefined ? undefined : parse(readDer(value));
  };
  return {
    sans: read(OID.subjectAltName, parseSans) ?? NO_SANS,
    isCa: read(OID.basicConstraints, (node) => isUniversal(childrenOf(node)[0], Tag.BOOLEAN)) ?? false,
    keyUsages: read(OID.keyUsage, keyUsageNames) ?? [],
    extendedKeyUsages: read(OID.extKeyUsage, extendedKeyUsageNames) ?? [],
    subjectKeyId: read(OID.subjectKeyIdentifier, contentOf),
    authorityKeyId: read(OID.authorityKeyIdentifier, (node) => {
      const keyId = childrenOf(node).find((one) => isContext(one, 0));
      return keyId === undefined ? undefined : contentOf(keyId);
    }),
  };
}

export interface VerifyOptions {
  readonly issuer: Certificate;
  /** Unix ms */
  readonly nowMs: number;
  /** an extended key usage that the certificate must allow */
  readonly purpose?: "client auth" | "server auth";
}

/**
 * Verifies a certificate that the issuer signed directly, without intermediates.
 *
 * Mirrors x509.Certificate.Verify of Go's crypto/x509, with its texts.
 * @returns undefined for a valid certificate, otherwise Go's error text
 */
export function certificateProblem(certificate: Certificate, options: VerifyOptions): string | undefined {
  const { issuer, nowMs, purpose } = options;
  const seconds = (ms: number) => rfc3339(ms);
  const expired = "x509: certificate has expired or is not yet valid: current time";
  if (nowMs < certificate.notBeforeMs) {
    return `${expired} ${seconds(nowMs)} is before ${seconds(certificate.notBeforeMs)}`;
  }
  // notAfter has whole seconds, and the certificate is valid until the end of that second.
  if (nowMs >= certificate.notAfterMs + 1000) {
    return `${expired} ${seconds(nowMs)} is after ${seconds(certificate.notAfterMs)}`;
  }
  const isIssued =
    certificate.issuerDer.equals(issuer.subjectDer) &&
    signatureProblem(certificate.signatureAlgorithm, certificate.signedDer, certificate.signature, issuer.spkiDer) ===
      undefined;
  if (!isIssued) return "x509: certificate signed by unknown authority";
  if (nowMs >= issuer.notAfterMs + 1000) {
    return `${expired} ${seconds(nowMs)} is after ${seconds(issuer.notAfterMs)}`;
  }
  const usages = certificate.extendedKeyUsages;
  if (purpose !== undefined && usages.length > 0 && !usages.includes(purpose) && !usages.includes("any")) {
    return "x509: certificate specifies an incompatible key usage";
  }
  return undefined;
}
