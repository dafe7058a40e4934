import { X509Certificate } from "node:crypto";
import type { AskingHeaders, RestConfig } from "./client.js";

/** A bootstrap token: the first half is public (it names the Secret), the second is not. */
const BOOTSTRAP_TOKEN = /^([a-z0-9]{6})\.[a-z0-9]{16}$/;

/** A client's identity without any secret: `token abcdef.****`, `certificate system:node:n1`, `anonymous`. */
export function identityInWords(config: RestConfig): string {
  const { impersonatedUser } = config;
  return impersonatedUser === undefined
    ? credentialInWords(config)
    : `${impersonatedUser}, by ${credentialInWords(config)}`;
}

function credentialInWords(config: RestConfig): string {
  if (config.clientCertificatePem !== undefined) return `certificate ${commonName(config.clientCertificatePem)}`;
  if (config.token !== undefined) {
    const id = BOOTSTRAP_TOKEN.exec(config.token)?.[1];
    return id === undefined ? "bearer token" : `token ${id}.****`;
  }
  return config.authorize === undefined ? "anonymous" : "login provider of the kubeconfig";
}

/** The CN of the first certificate of a PEM text, or its problem in brackets. */
function commonName(certificatePem: string): string {
  try {
    const subject = new X509Certificate(certificatePem).subject;
    return /^CN=(.*)$/m.exec(subject)?.[1] ?? "(no CN)";
  } catch {
    // Not a certificate: the first connection reports it.
    return "(unreadable)";
  }
}

/** Adds a client's identity to a request's headers: the token, and the headers of a login provider or impersonation. */
export async function addIdentity(headers: AskingHeaders, { token, authorize }: RestConfig): Promise<void> {
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  await authorize?.(headers);
}
