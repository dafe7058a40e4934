import { createHash } from "node:crypto";
import {
  type Certificate,
  certificateProblem,
  parseCertificate,
  parseCertificatePem,
} from "../../../pki/certificate.js";
import { DerError } from "../../../pki/der.js";
import { nameText } from "../../../pki/name.js";
import type { Clock } from "../../../util/clock.js";
import type { AuthenticationResult } from "../contracts.js";
import type { UserInfo } from "../user.js";
import { asAuthenticated } from "./groups.js";

/** More clients than a lab has; the oldest entry goes first. */
const MAX_REMEMBERED = 1_024;

/** What never changes about a certificate, found out once. */
interface JudgedCertificate {
  readonly certificate: Certificate | undefined;
  /** undefined: a good certificate without a common name, which says nothing about its holder */
  readonly user: UserInfo | undefined;
  readonly how: string;
  /** why it is bad at any time: foreign CA, wrong usage, damaged */
  readonly problem: string | undefined;
}

/**
 * Knows users by their client certificate: CN is the user, each O is a group.
 *
 * Mirrors k8s.io/apiserver/pkg/authentication/request/x509/x509.go (AuthenticateRequest, CommonNameUserConversion).
 * The signature is checked once per certificate; the validity on every request, because connections outlive certificates.
 */
export class ClientCertificateAuthenticator {
  readonly #ca: Certificate;
  readonly #judged = new Map<string, JudgedCertificate>();
  /** a connection hands in the same buffer with every request */
  readonly #byBuffer = new WeakMap<Buffer, JudgedCertificate>();

  constructor(
    caPem: string,
    readonly clock: Clock,
  ) {
    this.#ca = parseCertificatePem(caPem);
  }

  /** @returns undefined when the certificate is good and names nobody */
  authenticate(der: Buffer): AuthenticationResult | undefined {
    const { certificate, user, how, problem } = this.#judge(der);
    if (certificate === undefined || problem !== undefined) return { outcome: "rejected", why: problem ?? "" };
    const nowMs = this.clock.now();
    const lastMs = Math.min(certificate.notAfterMs, this.#ca.notAfterMs);
    if (nowMs < certificate.notBeforeMs || nowMs >= lastMs + 1_000) {
      const why = certificateProblem(certificate, { issuer: this.#ca, nowMs, purpose: "client auth" });
      if (why !== undefined) return { outcome: "rejected", why };
    }
    return user === undefined ? undefined : { outcome: "authenticated", user, how };
  }

  #judge(der: Buffer): JudgedCertificate {
    let judged = this.#byBuffer.get(der);
    if (judged !== undefined) return judged;
    const fingerprint = createHash("sha256").update(der).digest("base64");
    judged = this.#judged.get(fingerprint) ?? judge(der, this.#ca);
    this.#judged.set(fingerprint, judged);
    this.#byBuffer.set(der, judged);
    if (this.#judged.size > MAX_REMEMBERED) {
      const oldest = this.#judged.keys().next();
      if (!oldest.done) this.#judged.delete(oldest.value);
    }
    return judged;
  }
}

function judge(der: Buffer, ca: Certificate): JudgedCertificate {
  let certificate: Certificate;
  try {
    certificate = parseCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { certificate: undefined, user: undefined, how: "", problem: error.message };
  }
  // Judged at its first second, so that what is found is not about time.
  const problem = certificateProblem(certificate, {
    issuer: ca,
    nowMs: certificate.notBeforeMs,
    purpose: "client auth",
  });
  const { commonName, organization } = certificate.subject;
  return {
    certificate,
    user: commonName === "" ? undefined : asAuthenticated({ username: commonName, groups: organization }),
    how: `client certificate ${nameText(certificate.subject)}`,
    problem,
  };
}
