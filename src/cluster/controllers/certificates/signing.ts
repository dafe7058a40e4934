import {
  base64Text,
  type CertificateSigningRequest,
  csrCondition,
  isApproved,
} from "../../../staging/apimachinery/api/certificates.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import { parseCertificateRequestPem, requestSignatureProblem } from "../../../staging/pki/csr.js";
import { issueCertificate, loadAuthority, type SigningPair } from "../../../staging/pki/issue.js";
import { nameText } from "../../../staging/pki/name.js";
import { evaluateSigner, findSigner, outcomesText } from "../../../staging/pki/signers.js";
import type { Constant } from "../../../trace/events.js";
import type { Cause } from "../../../trace/trace.js";
import { durationText } from "../../../util/release/fact.js";
import type { Controller, ControllerDeps } from "../controller.js";
import { asController } from "../support/shared-deps.js";
import { CSR_RESOURCE, runCertificateController } from "./certificate-controller.js";
import { withCondition } from "./conditions.js";
import { BACKDATE_MS, DEFAULT_SIGNING_DURATION_MS, signingDuration, type Validity, validity } from "./policy.js";

const UPSTREAM = { file: "pkg/controller/certificates/signer/signer.go", func: "handle" };

export interface SigningOptions {
  /** --cluster-signing-duration; default one year */
  readonly signingDurationMs?: number;
}

/**
 * Signs approved requests for the three signers that use the cluster's own CA.
 *
 * Mirrors pkg/controller/certificates/signer/signer.go.
 * Differs: one controller for the three signers; upstream runs one for each.
 */
export function createCsrSigningController(deps: ControllerDeps, options: SigningOptions = {}): Controller {
  const { signingDurationMs = DEFAULT_SIGNING_DURATION_MS } = options;
  return {
    name: "csrsigning",
    async run(signal) {
      const authority = loadAuthority(deps.ca);
      const handle = (csr: CertificateSigningRequest) => sign(deps, authority, signingDurationMs, csr);
      await runCertificateController(deps, "csrsigning", handle, signal);
    },
  };
}

async function sign(
  deps: ControllerDeps,
  authority: SigningPair,
  maxDurationMs: number,
  csr: CertificateSigningRequest,
): Promise<void> {
  if (!isApproved(csr) || csrCondition(csr, "Failed") !== undefined || csr.status?.certificate) return;
  const signer = findSigner(csr.spec.signerName);
  if (signer === undefined) return; // A request for another signer, which may run outside this control plane.
  const usages = csr.spec.usages ?? [];
  const request = parseCertificateRequestPem(base64Text(csr.spec.request));
  const outcomes = evaluateSigner(signer, { request, usages });
  const message = outcomes.find((one) => !one.ok)?.message;
  if (message !== undefined) {
    const cause = report(deps, csr, "refuse to sign", outcomesText(outcomes));
    await update(deps, csr, cause, (current) =>
      withCondition(current, {
        type: "Failed",
        reason: "SignerValidationFailure",
        message,
        lastUpdateTime: rfc3339(deps.clock.now()),
      }),
    );
    return;
  }
  const badSignature = requestSignatureProblem(request);
  if (badSignature !== undefined) throw new Error(`unable to verify certificate request signature: ${badSignature}`);

  const ttlMs = signingDuration(csr.spec.expirationSeconds, maxDurationMs);
  const window = validity(deps.clock.now(), ttlMs, authority.certificate.notAfterMs);
  const certificate = issueCertificate(
    authority,
    { ...window, subject: request.subject, spkiDer: request.spkiDer, usages, sans: request.sans },
    deps.random,
  );
  const why = `${outcomesText(outcomes)}; subject ${nameText(request.subject)}, valid ${windowText(window)}`;
  const cause = report(deps, csr, `sign for ${signer.name}`, why, constants(csr, maxDurationMs));
  await update(deps, csr, cause, (current) =>
    current.status?.certificate
      ? current
      : { ...current, status: { ...current.status, certificate: Buffer.from(certificate).toString("base64") } },
  );
}

function update(
  deps: ControllerDeps,
  { metadata: { name = "" } }: CertificateSigningRequest,
  cause: Cause,
  change: (current: CertificateSigningRequest) => CertificateSigningRequest,
) {
  return deps.trace.because(cause, () =>
    deps.client.modify<CertificateSigningRequest>(CSR_RESOURCE, undefined, name, change, "status"),
  );
}

/** `2026-01-01T11:55:00Z to 2027-01-01T12:00:00Z (…)` */
function windowText({ notBeforeMs, notAfterMs, because }: Validity): string {
  return `${rfc3339(notBeforeMs)} to ${rfc3339(notAfterMs)} (${because})`;
}

function constants(csr: CertificateSigningRequest, maxDurationMs: number): Constant[] {
  const { expirationSeconds } = csr.spec;
  const asked =
    expirationSeconds === undefined
      ? { name: "--cluster-signing-duration", value: durationText(maxDurationMs) }
      : { name: "expirationSeconds", value: `${expirationSeconds} s` };
  return [asked, { name: "Backdate", value: durationText(BACKDATE_MS), release: "v1.25" }];
}

function report(
  deps: ControllerDeps,
  csr: CertificateSigningRequest,
  choice: string,
  why: string,
  constants: readonly Constant[] = [],
): Cause {
  return asController(deps.trace, {
    kind: "decision",
    what: `CSR ${csr.metadata.name}: ${choice}`,
    why,
    upstream: UPSTREAM,
    ...(constants.length === 0 ? {} : { constants }),
  });
}
