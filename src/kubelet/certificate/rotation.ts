import type { KeyObject } from "node:crypto";
import { requestCertificate } from "../../client-go/certificate/csr.js";
import { waitForCertificate } from "../../client-go/certificate/wait.js";
import type { KubeClient, RestConfig } from "../../client-go/rest/client.js";
import { type Certificate, parseCertificatePem } from "../../pki/certificate.js";
import { durationText } from "../../release/fact-table.js";
import { constantsFor, factFor } from "../../release/facts.js";
import type { Ctx } from "../../trace/ctx.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import type { Random } from "../../util/random.js";
import { checkIssued } from "./bootstrap.js";
import type { CertificateStore } from "./certificate-store.js";
import { clientUsages, KUBELET_CLIENT_SIGNER, nodeSubject } from "./node-identity.js";

export interface RotationDeps extends Ctx {
  /** asks with the certificate in use */
  readonly client: KubeClient;
  readonly store: CertificateStore;
}

export interface RotationOptions {
  readonly nodeName: string;
  readonly kubeVersion: string;
  readonly expirationSeconds?: number;
  /** from now on this is who the node is */
  readonly onRotated: (config: RestConfig) => Promise<void>;
}

const FILE = "staging/src/k8s.io/client-go/util/certificate/certificate_manager.go";
/** wait.Backoff{Duration: 2 s, Factor: 2, Jitter: 0.1, Steps: 5}, then every 32 s. */
const RETRY_STEPS_MS = [2_000, 4_000, 8_000, 16_000] as const;
const RETRY_JITTER = 0.1;
const RETRY_FOREVER_MS = 32_000;

/**
 * When to rotate: at a random 70 to 90 % of the certificate's life, counted from notBefore. The chance spreads nodes that
 * were made together.
 *
 * Mirrors certificate_manager.go (nextRotationDeadline, jitteryDuration). Pure.
 * @param float a number in [0, 1)
 * @returns Unix ms
 */
export function nextRotationDeadline(
  certificate: Pick<Certificate, "notBeforeMs" | "notAfterMs">,
  float: number,
): number {
  const totalMs = certificate.notAfterMs - certificate.notBeforeMs;
  return certificate.notBeforeMs + totalMs * (1 + float * 0.2) - totalMs * 0.3;
}

/**
 * Keeps the node's client certificate fresh until `signal` aborts (then rejects with its reason).
 *
 * Mirrors k8s.io/client-go/util/certificate/certificate_manager.go (manager.Start, rotateCerts): a new key each time, a
 * request with a generated name (`csr-xxxxx`), asked for with the certificate in use.
 * Differs: a key whose request did not come through is tried again with a new request; upstream makes another key.
 *
 * @throws LabError BAD_FILE when the new pair cannot be stored
 */
export async function rotateCertificates(
  deps: RotationDeps,
  options: RotationOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, trace } = deps;
  let certificate = currentCertificate(deps.client);
  for (;;) {
    const deadlineMs = nextRotationDeadline(certificate, random.float());
    const lifeMs = certificate.notAfterMs - certificate.notBeforeMs;
    const share = Math.round(((deadlineMs - certificate.notBeforeMs) / lifeMs) * 100);
    const constants = constantsFor(options.kubeVersion, "rotationDeadlineMin", "rotationDeadlineMax");
    trace.emit(
      {
        kind: "decision",
        what: `rotate the certificate in ${roughly(deadlineMs - clock.now())}`,
        why: `that is at ${share} % of its life of ${roughly(lifeMs)}, a share drawn by chance`,
        constants,
        upstream: { file: FILE, func: "nextRotationDeadline" },
      },
      { actor: "kubelet" },
    );
    await clock.sleep(Math.max(0, deadlineMs - clock.now()), signal);
    certificate = await rotateUntilDone(deps, options, signal);
  }
}

/** Two digits or so: `7 min`, `9 h`, `327 days`. */
export function roughly(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 2 * 86_400 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

function currentCertificate(client: KubeClient): Certificate {
  return parseCertificatePem(client.config.clientCertificatePem ?? "");
}

async function rotateUntilDone(
  deps: RotationDeps,
  options: RotationOptions,
  signal: AbortSignal,
): Promise<Certificate> {
  const { clock, random, trace } = deps;
  for (let attempt = 0; ; attempt++) {
    try {
      return await rotateOnce(deps, options, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof LabError) || error.code === "BAD_FILE") throw error;
      const waitMs = rotationRetryMs(attempt, random);
      const hint = `trying again in ${durationText(Math.round(waitMs / 1000) * 1000)}`;
      trace.emit({ kind: "error", message: `rotation: ${error.message}`, hint }, { actor: "kubelet" });
      await clock.sleep(waitMs, signal);
    }
  }
}

/** Before the next attempt. @param attempt 0: the first has failed */
export function rotationRetryMs(attempt: number, random: Random): number {
  const baseMs = RETRY_STEPS_MS[attempt];
  return baseMs === undefined ? RETRY_FOREVER_MS : baseMs * (1 + random.float() * RETRY_JITTER);
}

function rotateOnce(deps: RotationDeps, options: RotationOptions, signal: AbortSignal): Promise<Certificate> {
  const { store, clock, trace, client } = deps;
  const upstream = { file: FILE, func: "rotateCerts" };
  return trace.step("kubelet", "Rotate the client certificate", { upstream }, async () => {
    const pending = await store.pendingKey();
    const result = await requestCertificate(client, requestOptions(options, pending.key, clock.now()), signal);
    // Without a name of our own, no other request can be in the way.
    if (result.outcome === "unusable") throw new LabError("REFUSED", result.why, "It is tried again.");
    const timeoutMs = factFor("csrRotationTimeout", options.kubeVersion);
    const certificatePem = await waitForCertificate(deps, result.csr, { timeoutMs }, signal);
    const certificate = checkIssued(certificatePem, pending.keyPem, clock.now());
    await store.commit(certificatePem);
    await options.onRotated({ ...client.config, clientCertificatePem: certificatePem, clientKeyPem: pending.keyPem });
    trace.emit(
      {
        kind: "state",
        subject: store.certificatePath,
        what: "certificate",
        to: `serial ${certificate.serialHex.slice(0, 8)}…, until ${new Date(certificate.notAfterMs).toISOString()}`,
      },
      { actor: "kubelet" },
    );
    return certificate;
  });
}

function requestOptions(options: RotationOptions, key: KeyObject, nowMs: number) {
  return {
    key,
    subject: nodeSubject(options.nodeName),
    usages: clientUsages(options.kubeVersion, key),
    signerName: KUBELET_CLIENT_SIGNER,
    nowMs,
    ...defined({ expirationSeconds: options.expirationSeconds }),
  };
}
