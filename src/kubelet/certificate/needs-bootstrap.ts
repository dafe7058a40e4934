import { rfc3339 } from "../../staging/apimachinery/time.js";
import { loadKubeconfig } from "../../staging/client-go/clientcmd/kubeconfig.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { type Certificate, parseCertificate } from "../../staging/pki/certificate.js";
import { decodePem } from "../../staging/pki/pem.js";
import { LabError } from "../../util/errors.js";

export type BootstrapDecision =
  | { readonly needed: false; readonly why: string; readonly config: RestConfig; readonly certificate: Certificate }
  | { readonly needed: true; readonly why: string };

export interface BootstrapQuestion {
  readonly kubeconfigPath: string;
  /** Unix ms */
  readonly nowMs: number;
  /** CA of the cluster to join, if known */
  readonly caPem?: string;
  /** address of the cluster to join, if only that is known */
  readonly server?: string;
  readonly force?: boolean;
}

/**
 * Reports whether the node must bootstrap: unless its kubeconfig holds a client certificate that has not expired. A
 * kubeconfig that cannot be read does not count.
 *
 * Mirrors pkg/kubelet/certificate/bootstrap/bootstrap.go (isClientConfigStillValid).
 * Differs: a kubeconfig that trusts a CA other than that of the cluster to join does not count, because embedded
 * clusters come and go; a key that does not match its certificate stops the run, where upstream notices with the first
 * request.
 *
 * @throws LabError BAD_FILE for a key that does not belong to the certificate
 */
export async function needsBootstrap(question: BootstrapQuestion): Promise<BootstrapDecision> {
  const { kubeconfigPath, nowMs, caPem } = question;
  if (question.force === true) return { needed: true, why: "--force requests it" };
  let config: RestConfig;
  try {
    config = (await loadKubeconfig(kubeconfigPath)).config;
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    const isMissing = (error.cause as { code?: unknown } | undefined)?.code === "ENOENT";
    return { needed: true, why: isMissing ? `${kubeconfigPath} does not exist` : error.message };
  }
  const certificates = parseCertificates(config.clientCertificatePem ?? "");
  const first = certificates?.[0];
  if (certificates === undefined || first === undefined) {
    return { needed: true, why: `${kubeconfigPath} holds no readable client certificate` };
  }
  const expired = certificates.find((one) => nowMs > one.notAfterMs);
  if (expired !== undefined) {
    return { needed: true, why: `the certificate of ${kubeconfigPath} expired ${rfc3339(expired.notAfterMs)}` };
  }
  if (caPem !== undefined && config.caPem !== undefined && !isSamePem(caPem, config.caPem)) {
    return { needed: true, why: `${kubeconfigPath} is for another cluster: it trusts another CA` };
  }
  if (question.server !== undefined && question.server !== config.server) {
    return { needed: true, why: `${kubeconfigPath} is for another server: ${config.server}` };
  }
  const why = `${kubeconfigPath} is valid, its certificate expires ${rfc3339(first.notAfterMs)}`;
  return { needed: false, why, config, certificate: first };
}

function parseCertificates(pem: string): Certificate[] | undefined {
  try {
    return decodePem(pem)
      .filter(({ type }) => type === "CERTIFICATE")
      .map(({ der }) => parseCertificate(der));
  } catch {
    return undefined; // Damaged: treated as missing by callers that want to use it.
  }
}

/** Reports whether two PEM texts hold the same certificates, ignoring text around and between the blocks. */
export function isSamePem(one: string, other: string): boolean {
  const blocks = (pem: string) => decodePem(pem).map(({ der }) => der.toString("base64"));
  return blocks(one).join() === blocks(other).join();
}
