import { createHash } from "node:crypto";
import type { Clock } from "../../../util/clock.js";
import { type Certificate, certificateProblem, parseCertificate } from "../../pki/certificate.js";
import { DerError } from "../../pki/der.js";
import { nameText } from "../../pki/name.js";
import { decodePem } from "../../pki/pem.js";
import { asAuthenticated, type UserInfo } from "./user.js";

/** More certificates than a lab has clients. */
const MAX_CACHED = 1_024;
const UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority";

export type CertificateAuthentication =
  | { readonly outcome: "authenticated"; readonly user: UserInfo; readonly how: string }
  | { readonly outcome: "rejected"; readonly why: string };

/** The facts about a certificate that do not change with time. */
interface JudgedCertificate {
  readonly certificate: Certificate | undefined;
  /** undefined: not signed by a known CA, or not for clients */
  readonly issuer: Certificate | undefined;
  /** undefined: a valid certificate without a common name, which identifies no user */
  readonly user: UserInfo | undefined;
  readonly how: string;
  /** why the certificate is invalid at any time: unknown CA, wrong usage, damaged */
  readonly problem: string | undefined;
}

/**
 * Identifies users by their client certificate: CN is the user name, each O is a group.
 *
 * Mirrors k8s.io/apiserver/pkg/authentication/request/x509/x509.go (AuthenticateRequest, CommonNameUserConversion).
 * Checks the signature once per certificate, and the validity on every request, because connections outlive certificates.
 */
export class ClientCertificateAuthenticator {
  readonly #authorities: readonly Certificate[];
  readonly #judged = new Map<string, JudgedCertificate>();
  /** a connection passes the same buffer with every request */
  readonly #byBuffer = new WeakMap<Buffer, JudgedCertificate>();

  /** @param caPem one or more CAs */
  constructor(
    caPem: string,
    readonly clock: Clock,
  ) {
    this.#authorities = decodePem(caPem)
      .filter(({ type }) => type === "CERTIFICATE")
      .map(({ der }) => parseCertificate(der));
  }

  /** @returns undefined when the certificate is valid and names no user */
  authenticate(der: Buffer): CertificateAuthentication | undefined {
    const { certificate, issuer, user, how, problem } = this.#judge(der);
    if (certificate === undefined || issuer === undefined) return { outcome: "rejected", why: problem ?? "" };
    const nowMs = this.clock.now();
    const lastMs = Math.min(certificate.notAfterMs, issuer.notAfterMs);
    if (nowMs < certificate.notBeforeMs || nowMs >= lastMs + 1_000) {
      const why = certificateProblem(certificate, { issuer, nowMs, purpose: "client auth" });
      if (why !== undefined) return { outcome: "rejected", why };
    }
    return user === undefined ? undefined : { outcome: "authenticated", user, how };
  }

  #judge(der: Buffer): JudgedCertificate {
    let judged = this.#byBuffer.get(der);
    if (judged !== undefined) return judged;
    const fingerprint = createHash("sha256").update(der).digest("base64");
    judged = this.#judged.get(fingerprint) ?? judge(der, this.#authorities);
    this.#judged.set(fingerprint, judged);
    this.#byBuffer.set(der, judged);
    if (this.#judged.size > MAX_CACHED) {
      const oldest = this.#judged.keys().next();
      if (!oldest.done) this.#judged.delete(oldest.value);
    }
    return judged;
  }
}

function judge(der: Buffer, authorities: readonly Certificate[]): JudgedCertificate {
  let certificate: Certificate;
  try {
    certificate = parseCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { certificate: undefined, issuer: undefined, user: undefined, how: "", problem: error.message };
  }
  // Verified at the first second of its validity, so that the result does not depend on the current time.
  const nowMs = certificate.notBeforeMs;
  const problemWith = (issuer: Certificate) =>
    certificateProblem(certificate, { issuer, nowMs, purpose: "client auth" });
  const issuer = authorities.find((one) => problemWith(one) === undefined);
  const problems = issuer === undefined ? authorities.map(problemWith) : [];
  const { commonName, organization } = certificate.subject;
  return {
    certificate,
    issuer,
    user: commonName === "" ? undefined : asAuthenticated({ username: commonName, groups: organization }),
    how: `client certificate ${nameText(certificate.subject)}`,
    problem:
      issuer === undefined ? (problems.find((one) => one !== UNKNOWN_AUTHORITY) ?? UNKNOWN_AUTHORITY) : undefined,
  };
}
