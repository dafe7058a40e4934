import type { KeyObject } from "node:crypto";
import {
  bitStringBytes,
  DerError,
  type DerNode,
  derChildren,
  isContext,
  isUniversal,
  oidText,
  readDer,
  Tag,
} from "./der.js";
import { bitString, context, integer, oid, sequence, setOf } from "./der-write.js";
import { type Extension, encodeExtension, extensionValue, parseExtensions } from "./extensions.js";
import { publicKeyDer } from "./keys.js";
import { type DistinguishedName, encodeName, parseName } from "./name.js";
import { OID } from "./oids.js";
import { decodePem, encodePem } from "./pem.js";
import { encodeSans, isEmptySans, NO_SANS, parseSans, type SubjectAltNames } from "./sans.js";
import { algorithmIdentifier, algorithmOid, signatureAlgorithmFor, signatureProblem, signBytes } from "./signature.js";

/** A PKCS#10 certification request (RFC 2986), read. */
export interface CertificateRequest {
  readonly der: Buffer;
  readonly subject: DistinguishedName;
  readonly subjectDer: Buffer;
  /** SubjectPublicKeyInfo: goes unchanged into the certificate */
  readonly spkiDer: Buffer;
  readonly sans: SubjectAltNames;
  /** the requested ones */
  readonly extensions: readonly Extension[];
  /** the part that the signature covers */
  readonly signedDer: Buffer;
  /** dotted OID */
  readonly signatureAlgorithm: string;
  readonly signature: Buffer;
}

export interface RequestOptions {
  readonly subject: DistinguishedName;
  readonly sans?: SubjectAltNames;
}

/**
 * Builds a request and signs it with the key it asks a certificate for.
 *
 * Mirrors k8s.io/client-go/util/cert/csr.go (MakeCSRFromTemplate) and CreateCertificateRequest of Go's crypto/x509: O
 * before CN, alternative names as an extension request, an empty `[0]` when there is nothing to request.
 * @returns PEM
 */
export function createCertificateRequest(key: KeyObject, options: RequestOptions): string {
  const { subject, sans = NO_SANS } = options;
  const extensions = isEmptySans(sans) ? [] : [{ oid: OID.subjectAltName, critical: false, value: encodeSans(sans) }];
  const attributes =
    extensions.length === 0
      ? []
      : [sequence(oid(OID.extensionRequest), setOf(sequence(...extensions.map(encodeExtension))))];
  const signed = sequence(integer(0), encodeName(subject), publicKeyDer(key), context(0, ...attributes));
  const algorithm = signatureAlgorithmFor(key);
  const der = sequence(signed, algorithmIdentifier(algorithm), bitString(signBytes(algorithm, signed, key)));
  return encodePem("CERTIFICATE REQUEST", der);
}

/**
 * Reads the first PEM block as a request.
 *
 * Mirrors pkg/apis/certificates/helpers.go (ParseCSR). The signature is not checked here: see `requestSignatureProblem`.
 * @throws DerError with Go's text, which an API server passes on as it is
 */
export function parseCertificateRequestPem(pem: string): CertificateRequest {
  const block = decodePem(pem)[0];
  if (block?.type !== "CERTIFICATE REQUEST") throw new DerError("PEM block type must be CERTIFICATE REQUEST", 0);
  return parseCertificateRequest(block.der);
}

/** @throws DerError */
export function parseCertificateRequest(der: Buffer): CertificateRequest {
  const outer = readDer(der);
  if (!isUniversal(outer, Tag.SEQUENCE)) throw tagMismatch(outer, "certificateRequest");
  if (outer.whole.length !== der.length) {
    throw new DerError("asn1: syntax error: trailing data", outer.whole.length);
  }
  const [signed, algorithm, signature] = derChildren(outer);
  if (!isUniversal(signed, Tag.SEQUENCE)) throw tagMismatch(signed ?? outer, "tbsCertificateRequest");
  if (!isUniversal(algorithm, Tag.SEQUENCE)) throw tagMismatch(algorithm ?? outer, "AlgorithmIdentifier");
  if (!isUniversal(signature, Tag.BIT_STRING)) throw tagMismatch(signature ?? outer, "BitString");
  const [version, subject, spki, ...attributes] = derChildren(signed);
  if (!isUniversal(version, Tag.INTEGER)) throw tagMismatch(version ?? signed, "int");
  if (!isUniversal(subject, Tag.SEQUENCE)) throw tagMismatch(subject ?? signed, "RawValue");
  if (!isUniversal(spki, Tag.SEQUENCE)) throw tagMismatch(spki ?? signed, "publicKeyInfo");
  const extensions = requestedExtensions(attributes.find((one) => isContext(one, 0)));
  const sans = extensionValue(extensions, OID.subjectAltName);
  return {
    der,
    subject: parseName(subject),
    subjectDer: subject.whole,
    spkiDer: spki.whole,
    extensions,
    sans: sans === undefined ? NO_SANS : parseSans(sans),
    signedDer: signed.whole,
    signatureAlgorithm: algorithmOid(algorithm),
    signature: bitStringBytes(signature),
  };
}

/** @returns undefined when the requester holds the private key, or why not, in Go's words */
export function requestSignatureProblem(request: CertificateRequest): string | undefined {
  return signatureProblem(request.signatureAlgorithm, request.signedDer, request.signature, request.spkiDer);
}

function requestedExtensions(attributes: DerNode | undefined): Extension[] {
  if (attributes === undefined) return [];
  return derChildren(attributes).flatMap((attribute) => {
    const [type, values] = derChildren(attribute);
    if (!isUniversal(type, Tag.OID) || oidText(type.content) !== OID.extensionRequest || values === undefined) {
      return [];
    }
    return derChildren(values).flatMap((list) => parseExtensions(list));
  });
}

/** Go's words for a value that is not what its struct field says. */
function tagMismatch(node: DerNode, field: string): DerError {
  const classNumber = ["universal", "application", "context", "private"].indexOf(node.tagClass);
  const seen = `{class:${classNumber} tag:${node.tag} length:${node.content.length} isCompound:${node.constructed}}`;
  const wanted =
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}";
  const wantedTag = field === "int" ? Tag.INTEGER : field === "BitString" ? Tag.BIT_STRING : Tag.SEQUENCE;
  return new DerError(
    `asn1: structure error: tags don't match (${wantedTag} vs ${seen}) ${wanted} ${field} @${node.offset + node.headerLength}`,
    node.offset,
  );
}
