import type { KeyObject } from "node:crypto";
import { isIP } from "node:net";
import { requestCertificate } from "../../client-go/certificate/csr.js";
import { waitForCertificate } from "../../client-go/certificate/wait.js";
import type { KubeClient } from "../../client-go/rest/client.js";
import { type Certificate, parseCertificatePem } from "../../pki/certificate.js";
import { NO_SANS, type SubjectAltNames } from "../../pki/sans.js";
import { KUBELET_SERVING } from "../../pki/signers.js";
import { durationText } from "../../release/fact-table.js";
import { constantsFor, factFor } from "../../release/facts.js";
import type { Ctx } from "../../trace/ctx.js";
import type { Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { checkIssued } from "./bootstrap.js";
import type { CertificateStore, KeyPair } from "./certificate-store.js";
import { clientUsages, nodeSubject } from "./node-identity.js";
import { nextRotationDeadline, rotationRetryMs, roughly } from "./rotation.js";

export interface ServingRotationDeps extends Ctx {
  /** asks as the node */
  readonly client: KubeClient;
  /** of a folder of its own: `kubelet.key` and `kubelet.pem` of the client are another pair */
  readonly store: CertificateStore;
}

export interface ServingRotationOptions {
  readonly nodeName: string;
  readonly kubeVersion: string;
  /** what the node is called at: IP addresses and host names */
  readonly addresses: readonly string[];
  readonly expirationSeconds?: number;
  /** from now on the server shows this */
  readonly onCertificate: (pair: KeyPair) => void;
}

const FILE = "pkg/kubelet/certificate/kubelet.go";
const MANAGER = "staging/src/k8s.io/client-go/util/certificate/certificate_manager.go";

/**
 * Gets the server's certificate from the cluster and keeps it fresh, until `signal` aborts (then rejects with its reason).
 * Somebody has to approve each request: no controller does for this signer.
 *
 * Mirrors pkg/kubelet/certificate/kubelet.go (NewKubeletServerCertificateManager) and
 * k8s.io/client-go/util/certificate/certificate_manager.go (manager.Start, certSatisfiesTemplate).
 * Differs: the node's addresses are those it had at the start.
 *
 * @throws LabError BAD_FILE when the pair cannot be read or stored
 */
export async function rotateServingCertificate(
  deps: ServingRotationDeps,
  options: ServingRotationOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, trace, store } = deps;
  const sans = sansOf(options.addresses);
  let pair = await store.current();
  if (pair !== undefined) options.onCertificate(pair);
  for (;;) {
    const certificate = pair === undefined ? undefined : parseCertificatePem(pair.certificatePem);
    if (certificate !== undefined && satisfiesTemplate(certificate, options.nodeName, sans)) {
      const deadlineMs = nextRotationDeadline(certificate, random.float());
      report(trace, `rotate the serving certificate in ${roughly(deadlineMs - clock.now())}`, options.kubeVersion);
      await clock.sleep(Math.max(0, deadlineMs - clock.now()), signal);
    }
    pair = await rotateUntilDone(deps, options, sans, signal);
    options.onCertificate(pair);
  }
}

/** IP addresses and names, each where a certificate has it. Mirrors addressesToHostnamesAndIPs. */
function sansOf(addresses: readonly string[]): SubjectAltNames {
  const unique = [...new Set(addresses)].sort();
  return {
    ...NO_SANS,
    ip: unique.filter((address) => isIP(address) !== 0),
    dns: unique.filter((address) => isIP(address) === 0),
  };
}

/** Has the certificate all that a new one would have? Mirrors certSatisfiesTemplateLocked. */
function satisfiesTemplate(certificate: Certificate, nodeName: string, sans: SubjectAltNames): boolean {
  const has = new Set([...certificate.sans.ip, ...certificate.sans.dns]);
  const isOurs = certificate.subject.commonName === nodeSubject(nodeName).commonName;
  return isOurs && [...sans.ip, ...sans.dns].every((name) => has.has(name));
}

function report(trace: Trace, what: string, kubeVersion: string): void {
  trace.emit(
    {
      kind: "decision",
      what,
      why: "a share of its life, drawn by chance",
      constants: constantsFor(kubeVersion, "rotationDeadlineMin", "rotationDeadlineMax"),
      upstream: { file: MANAGER, func: "nextRotationDeadline" },
    },
    { actor: "kubelet" },
  );
}

async function rotateUntilDone(
  deps: ServingRotationDeps,
  options: ServingRotationOptions,
  sans: SubjectAltNames,
  signal: AbortSignal,
): Promise<KeyPair> {
  const { clock, random, trace } = deps;
  for (let attempt = 0; ; attempt++) {
    try {
      return await rotateOnce(deps, options, sans, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof LabError) || error.code === "BAD_FILE") throw error;
      const waitMs = rotationRetryMs(attempt, random);
      const hint = `trying again in ${durationText(Math.round(waitMs / 1000) * 1000)}`;
      trace.emit({ kind: "error", message: `serving certificate: ${error.message}`, hint }, { actor: "kubelet" });
      await clock.sleep(waitMs, signal);
    }
  }
}

function rotateOnce(
  deps: ServingRotationDeps,
  options: ServingRotationOptions,
  sans: SubjectAltNames,
  signal: AbortSignal,
): Promise<KeyPair> {
  const { store, clock, trace, client } = deps;
  const { nodeName, kubeVersion, expirationSeconds } = options;
  const upstream = { file: FILE, func: "NewKubeletServerCertificateManager" };
  return trace.step("kubelet", "Ask the cluster for a serving certificate", { upstream }, async () => {
    const pending = await store.pendingKey();
    const request = {
      key: pending.key,
      subject: nodeSubject(nodeName),
      sans,
      usages: servingUsages(kubeVersion, pending.key),
      signerName: KUBELET_SERVING,
      nowMs: clock.now(),
      ...defined({ expirationSeconds }),
    };
    const result = await requestCertificate(client, request, signal);
    // Without a name of our own, no other request can be in the way.
    if (result.outcome === "unusable") throw new LabError("REFUSED", result.why, "It is tried again.");
    const name = result.csr.metadata.name ?? "";
    const text = `No controller approves serving certificates: kubectl certificate approve ${name}`;
    trace.emit({ kind: "note", text }, { actor: "kubelet" });
    const timeoutMs = factFor("csrRotationTimeout", kubeVersion);
    const certificatePem = await waitForCertificate(deps, result.csr, { timeoutMs }, signal);
    const { notAfterMs, serialHex } = checkIssued(certificatePem, pending.keyPem, clock.now());
    await store.commit(certificatePem);
    const to = `serial ${serialHex.slice(0, 8)}…, until ${new Date(notAfterMs).toISOString()}`;
    trace.emit({ kind: "state", subject: store.certificatePath, what: "certificate", to }, { actor: "kubelet" });
    return { certificatePem, keyPem: pending.keyPem };
  });
}

/** As a client's, for the other side of the connection. */
function servingUsages(kubeVersion: string, key: KeyObject): readonly string[] {
  return clientUsages(kubeVersion, key).map((usage) => (usage === "client auth" ? "server auth" : usage));
}
