import type { KeyObject } from "node:crypto";
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
  oidOf,
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
  /** SubjectPublicKeyInfo, which the signer copies unchanged */
  readonly spkiDer: Buffer;
  readonly sans: SubjectAltNames;
  /** that the certificate should have */
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
 * Builds a certificate request for `key` and signs it with that key.
 *
 * Mirrors k8s.io/client-go/util/cert/csr.go (MakeCSRFromTemplate) and CreateCertificateRequest of Go's crypto/x509: O
 * comes before CN, alternative names are an extension request, `[0]` is empty without extensions.
 * @returns PEM
 */
export function createCertificateRequest(key: KeyObject, options: RequestOptions): string {
  const { subject, sans = NO_SANS } = options;
  const extensions = isEmptySans(sans)
    ? []
    : [{ oid: OID.subjectAltName, critical: false, value: encodeDer(encodeSans(sans)) }];
  const attributes =
    extensions.length === 0
      ? []
      : [sequence(oid(OID.extensionRequest), setOf(sequence(...extensions.map(encodeExtension))))];
  const signed = sequence(integer(0), encodeName(subject), readDer(publicKeyDer(key)), context(0, ...attributes));
  const algorithm = signatureAlgorithmFor(key);
  const signature = bitString(signBytes(algorithm, encodeDer(signed), key));
  return encodePem("CERTIFICATE REQUEST", encodeDer(sequence(signed, algorithmIdentifier(algorithm), signature)));
}

/**
 * Reads the first PEM block as a request.
 *
 * Mirrors pkg/apis/certificates/helpers.go (ParseCSR). `requestSignatureProblem` checks the signature.
 * @throws DerError with Go's text, which an API server returns to its client
 */
export function parseCertificateRequestPem(pem: string): CertificateRequest {
  const block = decodePem(pem)[0];
  // decodePem does not distinguish NEW CERTIFICATE REQUEST from CERTIFICATE REQUEST; Kubernetes refuses the first.
  const isNew = /-----BEGIN ([^-]*)-----/.exec(pem)?.[1] === "NEW CERTIFICATE REQUEST";
  if (isNew || block?.type !== "CERTIFICATE REQUEST")
    throw new DerError("PEM block type must be CERTIFICATE REQUEST", 0);
  return parseCertificateRequest(block.der);
}

/** @throws DerError */
export function parseCertificateRequest(der: Buffer): CertificateRequest {
  const outer = readDer(der);
  if (!isUniversal(outer, Tag.SEQUENCE)) throw tagMismatch(outer, "certificateRequest");
  expectEnd(outer, der);
  const [signed, algorithm, signature] = childrenOf(outer);
  if (!isUniversal(signed, Tag.SEQUENCE)) throw tagMismatch(signed ?? outer, "tbsCertificateRequest");
  if (!isUniversal(algorithm, Tag.SEQUENCE)) throw tagMismatch(algorithm ?? outer, "AlgorithmIdentifier");
  if (!isUniversal(signature, Tag.BITSTRING)) throw tagMismatch(signature ?? outer, "BitString");
  const [version, subject, spki, ...attributes] = childrenOf(signed);
  if (!isUniversal(version, Tag.INTEGER)) throw tagMismatch(version ?? signed, "int");
  if (!isUniversal(subject, Tag.SEQUENCE)) throw tagMismatch(subject ?? signed, "RawValue");
  if (!isUniversal(spki, Tag.SEQUENCE)) throw tagMismatch(spki ?? signed, "publicKeyInfo");
  const extensions = requestedExtensions(attributes.find((one) => isContext(one, 0)));
  const sans = extensionValue(extensions, OID.subjectAltName);
  return {
    der,
    subject: parseName(subject),
    subjectDer: encodeDer(subject),
    spkiDer: encodeDer(spki),
    extensions,
    sans: sans === undefined ? NO_SANS : parseSans(readDer(sans)),
    signedDer: encodeDer(signed),
    signatureAlgorithm: algorithmOid(algorithm),
    signature: bitStringBytes(signature),
  };
}

/** @returns undefined when the requester has proved to hold the private key, otherwise Go's error text */
export function requestSignatureProblem(request: CertificateRequest): string | undefined {
  return signatureProblem(request.signatureAlgorithm, request.signedDer, request.signature, request.spkiDer);
}

function requestedExtensions(attributes: DerNode | undefined): Extension[] {
  return childrenOf(attributes).flatMap((attribute) => {
    const [type, values] = childrenOf(attribute);
    return oidOf(type) === OID.extensionRequest ? childrenOf(values).flatMap((list) => parseExtensions(list)) : [];
  });
}

/** Go's error for a value that does not fit its struct field. */
function tagMismatch(node: DerNode, field: string): DerError {
  const length = childrenOf(node).reduce((sum, child) => sum + encodeDer(child).length, contentOf(node).length);
  const seen = `{class:${node.tagClass >> 6} tag:${node.type} length:${length} isCompound:${node.constructed}}`;
  const wanted =
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}";
  const wantedTag = field === "int" ? Tag.INTEGER : field === "BitString" ? Tag.BITSTRING : Tag.SEQUENCE;
  return new DerError(
    `asn1: structure error: tags don't match (${wantedTag} vs ${seen}) ${wanted} ${field} @${encodeDer(node).length - length}`,
    0,
  );
}
