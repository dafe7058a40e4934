import {
  base64Text,
  type CertificateSigningRequest,
  isIssued,
} from "../../../staging/apimachinery/api/certificates.js";
import { concurrently, every } from "../../../staging/apimachinery/wait.js";
import { parseCertificatePem } from "../../../staging/pki/certificate.js";
import { constantFor, type FactName, factFor } from "../../../util/release/facts.js";
import type { Controller, ControllerDeps } from "../controller.js";
import { asController } from "../support/shared-deps.js";
import { CSR_RESOURCE } from "./certificate-controller.js";

const UPSTREAM = { file: "pkg/controller/certificates/cleaner/cleaner.go", func: "handle" };

/**
 * Deletes obsolete requests, once per polling interval.
 *
 * Mirrors pkg/controller/certificates/cleaner/cleaner.go.
 */
export function createCsrCleanerController(deps: ControllerDeps): Controller {
  return {
    name: "csrcleaner",
    async run(signal) {
      const periodMs = factFor("csrCleanerPollingInterval", deps.kubeVersion);
      await concurrently(signal, (end) => every(deps, periodMs, () => cleanOnce(deps), end));
    },
  };
}

async function cleanOnce(deps: ControllerDeps): Promise<void> {
  for (const csr of await deps.client.list<CertificateSigningRequest>(CSR_RESOURCE)) {
    const verdict = cleanupReason(csr, deps.clock.now(), deps.kubeVersion);
    if (verdict === undefined) continue;
    const name = csr.metadata.name ?? "";
    const cause = asController(deps.trace, {
      kind: "decision",
      what: `delete CSR ${name}`,
      why: verdict.why,
      upstream: UPSTREAM,
      ...(verdict.fact === undefined ? {} : { constants: [constantFor(verdict.fact, deps.kubeVersion)] }),
    });
    await deps.trace.because(cause, () => deps.client.delete(CSR_RESOURCE, undefined, name));
  }
}

interface Verdict {
  readonly why: string;
  readonly fact?: FactName;
}

/** Why a request is deleted; undefined if it stays. Upstream's checks in upstream's order. */
function cleanupReason(csr: CertificateSigningRequest, nowMs: number, kubeVersion: string): Verdict | undefined {
  const isOlder = (
    time: string | null | undefined,
    fact: "csrApprovedExpiration" | "csrDeniedExpiration" | "csrPendingExpiration",
  ) => time !== undefined && time !== null && nowMs - Date.parse(time) > factFor(fact, kubeVersion);
  const conditions = csr.status?.conditions ?? [];
  const since = (type: string, fact: "csrApprovedExpiration" | "csrDeniedExpiration") =>
    conditions.some((one) => one.type === type && isOlder(one.lastUpdateTime, fact));
  if (isIssued(csr) && since("Approved", "csrApprovedExpiration")) {
    return { why: "it was approved long ago, and its certificate is issued", fact: "csrApprovedExpiration" };
  }
  if (since("Denied", "csrDeniedExpiration")) return { why: "it was denied long ago", fact: "csrDeniedExpiration" };
  if (since("Failed", "csrDeniedExpiration")) return { why: "it failed long ago", fact: "csrDeniedExpiration" };
  if (conditions.length === 0 && isOlder(csr.metadata.creationTimestamp, "csrPendingExpiration")) {
    return { why: "it has been pending for too long", fact: "csrPendingExpiration" };
  }
  if (isIssued(csr) && conditions.some((one) => one.type === "Approved") && isExpired(csr, nowMs)) {
    return { why: "its certificate has expired" };
  }
  return undefined;
}

function isExpired(csr: CertificateSigningRequest, nowMs: number): boolean {
  try {
    return nowMs > parseCertificatePem(base64Text(csr.status?.certificate ?? "")).notAfterMs;
  } catch {
    return false; // Another signer may have stored something unreadable. It never expires: upstream ignores it, too.
  }
}
