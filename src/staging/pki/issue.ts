import { createHash, createPrivateKey, type KeyObject } from "node:crypto";
import type { Random } from "../../util/random.js";
import { type Certificate, parseCertificatePem } from "./certificate.js";
import { bitStringBytes, childrenOf, type DerNode, encodeDer, readDer } from "./der.js";
import { bitString, boolean, context, contextString, integer, octetString, sequence, time } from "./der-write.js";
import { type Extension, encodeExtension } from "./extensions.js";
import { type DistinguishedName, encodeName } from "./name.js";
import { OID } from "./oids.js";
import { encodePem } from "./pem.js";
import { encodeSans, isEmptySans, NO_SANS, type SubjectAltNames } from "./sans.js";
import { algorithmIdentifier, signatureAlgorithmFor, signBytes } from "./signature.js";
import { encodeExtendedKeyUsage, encodeKeyUsage, splitUsages } from "./usages.js";

/** A certificate authority as PEM. The key leaves the process only when its owner writes it to a file (0600). */
export interface CertificateAuthority {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** The contents of a certificate to issue. */
export interface CertificateTemplate {
  readonly subject: DistinguishedName;
  /** SubjectPublicKeyInfo, copied unchanged */
  readonly spkiDer: Buffer;
  /** names of the certificates API, both kinds together: `digital signature`, `client auth` */
  readonly usages: readonly string[];
  readonly sans?: SubjectAltNames;
  /** Unix ms; cut to whole seconds */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly isCa?: boolean;
}

/** A CA's parsed certificate and key, for callers that sign often. */
export interface SigningPair {
  readonly certificate: Certificate;
  readonly privateKey: KeyObject;
}

/** @throws DerError, or an error of node:crypto, when the PEM is damaged */
export function loadAuthority(ca: CertificateAuthority): SigningPair {
  return { certificate: parseCertificatePem(ca.certificatePem), privateKey: createPrivateKey(ca.privateKeyPem) };
}

/**
 * Signs a certificate.
 *
 * Mirrors CreateCertificate of Go's crypto/x509 with the template of pkg/controller/certificates/authority: the same
 * extensions in the same order (key usage, extended key usage, basic constraints, key IDs, alternative names), no subject
 * key ID for a leaf, a random serial number below 2^128.
 * @param random for the serial number
 * @returns PEM of one certificate, ending with a newline
 * @throws TypeError for a usage outside the certificates API
 */
export function issueCertificate(
  issuer: CertificateAuthority | SigningPair,
  template: CertificateTemplate,
  random: Random,
): string {
  const { certificate, privateKey } = "privateKey" in issuer ? issuer : loadAuthority(issuer);
  return sign(template, privateKey, random, {
    name: readDer(certificate.subjectDer),
    authorityKeyId: certificate.subjectKeyId,
  });
}

/** Signs a certificate with its own key, as a root CA does. */
export function issueSelfSigned(privateKey: KeyObject, template: CertificateTemplate, random: Random): string {
  return sign(template, privateKey, random, { name: encodeName(template.subject), authorityKeyId: undefined });
}

interface Issuer {
  readonly name: DerNode;
  readonly authorityKeyId: Buffer | undefined;
}

function sign(template: CertificateTemplate, key: KeyObject, random: Random, issuer: Issuer): string {
  const algorithm = signatureAlgorithmFor(key);
  const signed = sequence(
    context(0, integer(2)), // version 3
    integer(random.bytes(16)),
    algorithmIdentifier(algorithm),
    issuer.name,
    sequence(time(template.notBeforeMs), time(template.notAfterMs)),
    encodeName(template.subject),
    readDer(template.spkiDer),
    context(3, sequence(...extensionsOf(template, issuer.authorityKeyId).map(encodeExtension))),
  );
  const signature = bitString(signBytes(algorithm, encodeDer(signed), key));
  return encodePem("CERTIFICATE", encodeDer(sequence(signed, algorithmIdentifier(algorithm), signature)));
}

function extensionsOf(template: CertificateTemplate, authorityKeyId: Buffer | undefined): Extension[] {
  const { keyUsageBits, extendedKeyUsageOids, unrecognized } = splitUsages(template.usages);
  if (unrecognized.length > 0) {
    throw new TypeError(`unrecognized usage values: [${unrecognized.map((one) => JSON.stringify(one)).join(" ")}]`);
  }
  const { isCa = false, sans = NO_SANS } = template;
  const extensions: Extension[] = [];
  const add = (dotted: string, critical: boolean, value: DerNode) => {
    extensions.push({ oid: dotted, critical, value: encodeDer(value) });
  };
  if (keyUsageBits.length > 0) add(OID.keyUsage, true, encodeKeyUsage(keyUsageBits));
  if (extendedKeyUsageOids.length > 0) add(OID.extKeyUsage, false, encodeExtendedKeyUsage(extendedKeyUsageOids));
  // FALSE is the default, so CA:FALSE is an empty SEQUENCE.
  add(OID.basicConstraints, true, isCa ? sequence(boolean(true)) : sequence());
  if (isCa) add(OID.subjectKeyIdentifier, false, octetString(keyIdentifier(template.spkiDer)));
  if (authorityKeyId !== undefined) {
    add(OID.authorityKeyIdentifier, false, sequence(contextString(0, authorityKeyId)));
  }
  const isSubjectEmpty = childrenOf(encodeName(template.subject)).length === 0;
  if (!isEmptySans(sans)) add(OID.subjectAltName, isSubjectEmpty, encodeSans(sans));
  return extensions;
}

/** SHA-1 of the public key's bits (RFC 5280, 4.2.1.2, method 1), Go's key ID for a CA. */
function keyIdentifier(spkiDer: Buffer): Buffer {
  const bits = childrenOf(readDer(spkiDer))[1];
  return createHash("sha1")
    .update(bits === undefined ? spkiDer : bitStringBytes(bits))
    .digest();
}
