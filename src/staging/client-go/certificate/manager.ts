import type { KeyObject } from "node:crypto";
import type { Ctx } from "../../../trace/ctx.js";
import { LabError } from "../../../util/errors.js";
import type { Random } from "../../../util/random.js";
import { factFor } from "../../../util/release/facts.js";
import { type Certificate, parseCertificatePem } from "../../pki/certificate.js";
import { keyMatchesCertificate } from "../../pki/keys.js";
import type { DistinguishedName } from "../../pki/name.js";
import type { SubjectAltNames } from "../../pki/sans.js";
import type { KubeClient } from "../rest/client.js";
import { requestCertificate } from "./csr.js";
import { ManagerObserver, type ObservedCertificate } from "./manager-observer.js";
import { waitForCertificate } from "./wait.js";

/** A private key and the certificate for it, both PEM. */
export interface KeyPair {
  readonly keyPem: string;
  readonly certificatePem: string;
}

/** A key that a certificate is requested for. */
export interface PendingKey {
  readonly key: KeyObject;
  readonly keyPem: string;
  /** true: from an earlier run, which may have sent a request for it */
  readonly isReused: boolean;
}

/** Keeps the pair in use. Mirrors Store in certificate_manager.go. */
export interface Store {
  readonly certificatePath: string;
  current(): Promise<KeyPair | undefined>;
  pendingKey(): Promise<PendingKey>;
  /** Makes a pair with the pending key the pair in use. */
  commit(pair: KeyPair): Promise<void>;
}

/** The contents of the certificate. Mirrors GetTemplate and Usages in Config. */
export interface CertificateTemplate {
  readonly subject: DistinguishedName;
  readonly sans?: SubjectAltNames;
  readonly usages: (key: KeyObject) => readonly string[];
}

/** Mirrors Config in certificate_manager.go. */
export interface CertificateConfig extends ObservedCertificate {
  readonly signerName: string;
  /** a stored certificate that does not satisfy it is replaced at once */
  readonly template: CertificateTemplate;
  readonly expirationSeconds?: number;
  readonly store: Store;
  /** takes the pair into use: the stored one at the start, then each new one */
  readonly onCertificate: (pair: KeyPair) => void | Promise<void>;
  readonly metrics?: CertificateManagerMetrics;
}

/** Mirrors CertificateRenewFailure and CertificateRotation in Config. */
export interface CertificateManagerMetrics {
  /** an attempt to renew failed */
  renewFailed(): void;
  /** @param ageMs of the replaced certificate */
  rotated?(ageMs: number): void;
}

export interface ManagerDeps extends Ctx {
  /** requests certificates; it uses the current certificate if this manager keeps the client's */
  readonly client: KubeClient;
}

/** wait.Backoff{Duration: 2 s, Factor: 2, Jitter: 0.1, Steps: 5}, then every 32 s. */
const RETRY_STEPS_MS = [2_000, 4_000, 8_000, 16_000] as const;
const RETRY_JITTER = 0.1;
const RETRY_FOREVER_MS = 32_000;

/**
 * Keeps one certificate valid until `signal` aborts: replaces it at 70 to 90 % of its life, or at once if it does not
 * satisfy the template.
 *
 * Mirrors k8s.io/client-go/util/certificate/certificate_manager.go (manager.Start).
 * Differs: the template is fixed at the start; upstream compares it again whenever the node's addresses change.
 *
 * @throws the signal's reason; LabError BAD_FILE when the pair cannot be read or stored
 */
export async function runCertificateManager(
  deps: ManagerDeps,
  config: CertificateConfig,
  signal: AbortSignal,
): Promise<never> {
  const { clock, random } = deps;
  const observer = new ManagerObserver(deps, config);
  let pair = await config.store.current();
  if (pair !== undefined) await config.onCertificate(pair);
  for (;;) {
    const certificate = pair === undefined ? undefined : parseCertificatePem(pair.certificatePem);
    if (certificate !== undefined && certSatisfiesTemplate(certificate, config.template)) {
      const deadlineMs = nextRotationDeadline(certificate, random.float());
      observer.scheduled(certificate, deadlineMs);
      await clock.sleep(Math.max(0, deadlineMs - clock.now()), signal);
    }
    pair = await rotateUntilDone(deps, config, observer, signal);
    if (certificate !== undefined) config.metrics?.rotated?.(clock.now() - certificate.notBeforeMs);
    await config.onCertificate(pair);
  }
}

/** Mirrors the wait.ExponentialBackoff around rotateCerts, and the PollInfinite after it. */
async function rotateUntilDone(
  deps: ManagerDeps,
  config: CertificateConfig,
  observer: ManagerObserver,
  signal: AbortSignal,
): Promise<KeyPair> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await observer.rotating(() => rotateCerts(deps, config, observer, signal));
    } catch (error) {
      if (signal.aborted || !(error instanceof LabError) || error.code === "BAD_FILE") throw error;
      config.metrics?.renewFailed();
      const waitMs = retryMs(attempt, deps.random);
      observer.failed(error, waitMs);
      await deps.clock.sleep(waitMs, signal);
    }
  }
}

/**
 * Requests a certificate for a new key, waits until it is issued, and stores it.
 *
 * Mirrors rotateCerts. Differs: a key whose request failed is used again for the next request; upstream generates another.
 */
async function rotateCerts(
  deps: ManagerDeps,
  config: CertificateConfig,
  observer: ManagerObserver,
  signal: AbortSignal,
): Promise<KeyPair> {
  const { store, template, signerName, expirationSeconds, kubeVersion } = config;
  const { key, keyPem } = await store.pendingKey();
  const spec = { signerName, expirationSeconds, subject: template.subject, sans: template.sans };
  const request = { key, ...spec, usages: template.usages(key), nowMs: deps.clock.now() };
  const result = await requestCertificate(deps.client, request, signal);
  // The server generates the name, so an unusable request of the same name cannot exist.
  if (result.outcome === "unusable") throw new LabError("REFUSED", result.why, "It is tried again.");
  observer.requested(result.csr);
  const timeoutMs = factFor("csrRotationTimeout", kubeVersion);
  const certificatePem = await waitForCertificate(deps, result.csr, { timeoutMs }, signal);
  const certificate = checkIssued(certificatePem, keyPem, deps.clock.now());
  await store.commit({ keyPem, certificatePem });
  observer.stored(certificate);
  return { certificatePem, keyPem };
}

/**
 * When to rotate: at a random 70 to 90 % of the certificate's life, counted from notBefore. Jitter, so that nodes created
 * together do not rotate together.
 *
 * Mirrors nextRotationDeadline and jitteryDuration. Pure.
 * @param float a number in [0, 1)
 * @returns Unix ms
 */
export function nextRotationDeadline(
  { notBeforeMs, notAfterMs }: Pick<Certificate, "notBeforeMs" | "notAfterMs">,
  float: number,
): number {
  const totalMs = notAfterMs - notBeforeMs;
  return notBeforeMs + totalMs * (1 + float * 0.2) - totalMs * 0.3;
}

/** Does the certificate have the template's name and all its SANs? Mirrors certSatisfiesTemplateLocked. */
function certSatisfiesTemplate({ subject, sans }: Certificate, template: CertificateTemplate): boolean {
  const has = new Set([...sans.ip, ...sans.dns]);
  const wanted = [...(template.sans?.ip ?? []), ...(template.sans?.dns ?? [])];
  return subject.commonName === template.subject.commonName && wanted.every((name) => has.has(name));
}

/** @param attempt 0: the first attempt has failed @returns ms until the next one */
function retryMs(attempt: number, random: Random): number {
  const baseMs = RETRY_STEPS_MS[attempt];
  return baseMs === undefined ? RETRY_FOREVER_MS : baseMs * (1 + random.float() * RETRY_JITTER);
}

/** Checks an issued certificate. @throws LabError if it cannot be used */
export function checkIssued(certificatePem: string, keyPem: string, nowMs: number): Certificate {
  let certificate: Certificate;
  try {
    certificate = parseCertificatePem(certificatePem);
  } catch (cause) {
    throw new LabError("REFUSED", "the signer's answer is not a certificate", "Look at the CSR.", { cause });
  }
  if (!keyMatchesCertificate(keyPem, certificatePem)) {
    throw new LabError("REFUSED", "the signer's certificate is for another key", "Look at the CSR and at its signer.");
  }
  if (nowMs < certificate.notBeforeMs) {
    const from = new Date(certificate.notBeforeMs).toISOString();
    throw new LabError(
      "CLUSTER_NOT_TRUSTED",
      `the certificate is not valid yet: it begins ${from}, and by this machine's clock it is ${new Date(nowMs).toISOString()}`,
      "Clock skew: this machine's clock is behind the cluster's. Set it, then run the same command again.",
    );
  }
  return certificate;
}
