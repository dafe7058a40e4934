import { X509Certificate } from "node:crypto";
import type { AskingHeaders, RestConfig } from "./client.js";

/** A bootstrap token: the first half is public (it names the Secret), the second is not. */
const BOOTSTRAP_TOKEN = /^([a-z0-9]{6})\.[a-z0-9]{16}$/;

/** Who a client asks as, in words, without any secret: `token abcdef.****`, `certificate system:node:n1`, `anonymous`. */
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

/** CN of the first certificate of a PEM text, or what is wrong with it in words: the connection will say more. */
function commonName(certificatePem: string): string {
  try {
    const subject = new X509Certificate(certificatePem).subject;
    return /^CN=(.*)$/m.exec(subject)?.[1] ?? "(no CN)";
  } catch {
    // Not a certificate: TLS refuses it with its own sentence when the first request is made.
    return "(unreadable)";
  }
}

/** Shows in a request's headers who asks: the token, and what a login provider or an impersonation fills in. */
export async function addIdentity(headers: AskingHeaders, { token, authorize }: RestConfig): Promise<void> {
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  await authorize?.(headers);
}
