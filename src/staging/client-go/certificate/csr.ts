import type { KeyObject } from "node:crypto";
import { defined } from "../../../util/defined.js";
import { base64Text, type CertificateSigningRequest, isIssued } from "../../apimachinery/api/certificates.js";
import { parseCertificatePem } from "../../pki/certificate.js";
import { createCertificateRequest, parseCertificateRequestPem, requestSignatureProblem } from "../../pki/csr.js";
import { DerError } from "../../pki/der.js";
import { publicKeyDer } from "../../pki/keys.js";
import { type DistinguishedName, nameText } from "../../pki/name.js";
import type { SubjectAltNames } from "../../pki/sans.js";
import { isSuccess, refusal } from "../rest/answers.js";
import type { KubeClient } from "../rest/client.js";
import { identityInWords } from "../rest/identity.js";
import { CSRS, collectionPath, objectPath } from "../rest/paths.js";

export interface RequestOptions {
  readonly key: KeyObject;
  readonly subject: DistinguishedName;
  /** SANs of a server's certificate: its names and addresses */
  readonly sans?: SubjectAltNames | undefined;
  readonly usages: readonly string[];
  readonly signerName: string;
  /** undefined: the server generates a name that begins with `csr-`, as for upstream's certificate manager */
  readonly name?: string | undefined;
  readonly expirationSeconds?: number | undefined;
  /** Unix ms */
  readonly nowMs: number;
  /** default: `csrObject` */
  readonly csrObject?: typeof csrObject;
}

export type RequestResult =
  | { readonly outcome: "created" | "reused"; readonly csr: CertificateSigningRequest }
  /** a request with this name exists but is unusable */
  | { readonly outcome: "unusable"; readonly name: string; readonly why: string };

/**
 * Sends a CertificateSigningRequest, or finds the one of the same name that an earlier run sent.
 *
 * Mirrors k8s.io/client-go/util/certificate/csr/csr.go (RequestCertificate, ensureCompatible).
 * Differs: reports an existing request as unusable if it was denied, failed, or has an expired certificate, so that the
 * caller can make another; upstream stops until it is deleted.
 *
 * @throws LabError UNAUTHORIZED, FORBIDDEN, REFUSED
 */
export async function requestCertificate(
  client: KubeClient,
  options: RequestOptions,
  signal: AbortSignal,
): Promise<RequestResult> {
  const { name = "", subject, sans } = options;
  const pem = createCertificateRequest(options.key, sans === undefined ? { subject } : { subject, sans });
  const make = options.csrObject ?? csrObject;
  const { csr, isNew } = await createOrGet(client, make(pem, options), signal);
  if (isNew) return { outcome: "created", csr };
  const why = whyUnusable(csr, options);
  return why === undefined ? { outcome: "reused", csr } : { outcome: "unusable", name, why };
}

/** The object for a PKCS#10 request in PEM. */
export function csrObject(
  requestPem: string,
  {
    name,
    usages,
    signerName,
    expirationSeconds,
  }: Pick<RequestOptions, "name" | "usages" | "signerName" | "expirationSeconds">,
): CertificateSigningRequest {
  return {
    kind: "CertificateSigningRequest",
    apiVersion: CSRS.apiVersion,
    metadata: name === undefined ? { generateName: "csr-" } : { name },
    spec: {
      request: Buffer.from(requestPem).toString("base64"),
      signerName,
      ...defined({ expirationSeconds }),
      usages,
    },
  };
}

/** Creates the object, or gets the existing one of the same name. @throws LabError UNAUTHORIZED, FORBIDDEN, REFUSED */
export async function createOrGet(
  client: KubeClient,
  body: CertificateSigningRequest,
  signal: AbortSignal,
): Promise<{ readonly csr: CertificateSigningRequest; readonly isNew: boolean }> {
  const path = collectionPath(CSRS);
  const { name } = body.metadata;
  const answer = await client.request<CertificateSigningRequest>({ method: "POST", path, body, signal });
  if (isSuccess(answer)) return { csr: answer.body, isNew: true };
  if (answer.status !== 409 || name === undefined) {
    throw refusal(answer, `POST ${path}`, identityInWords(client.config));
  }
  const existing = { method: "GET", path: objectPath(CSRS, name), signal } as const;
  return { csr: await client.expect<CertificateSigningRequest>(existing), isNew: false };
}

function whyUnusable(existing: CertificateSigningRequest, options: RequestOptions): string | undefined {
  try {
    const request = parseCertificateRequestPem(base64Text(existing.spec.request));
    if (nameText(request.subject) !== nameText(options.subject)) return "it is for another subject";
    if (existing.spec.signerName !== options.signerName) return "it is for another signer";
    if (!request.spkiDer.equals(publicKeyDer(options.key))) return "it is for another key";
    if (requestSignatureProblem(request) !== undefined) return "its signature is not good";
    const ended = existing.status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
    if (ended !== undefined) return `it was ${ended.type === "Denied" ? "denied" : "failed"} before`;
    const certificate = issuedCertificate(existing);
    if (certificate !== undefined && options.nowMs > parseCertificatePem(certificate).notAfterMs) {
      return "its certificate has expired";
    }
    return undefined;
  } catch (error) {
    if (error instanceof DerError) return `it cannot be read: ${error.message}`;
    throw error;
  }
}

/** PEM; undefined until it is issued */
export function issuedCertificate(csr: CertificateSigningRequest): string | undefined {
  return isIssued(csr) ? base64Text(csr.status?.certificate ?? "") : undefined;
}
