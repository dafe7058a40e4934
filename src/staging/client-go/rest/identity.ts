import { X509Certificate } from "node:crypto";
import { rfc3339 } from "../../apimachinery/time.js";
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

/**
 * A client's identity for a refusal, with a reason that the client itself can see: `certificate n1, which expired
 * 2026-01-01T00:00:00Z`.
 * @param nowMs Unix ms
 */
export function refusedIdentity(config: RestConfig, nowMs: number): string {
  return `${identityInWords(config)}${outsideValidity(config, nowMs)}`;
}

function outsideValidity({ clientCertificatePem }: RestConfig, nowMs: number): string {
  if (clientCertificatePem === undefined) return "";
  try {
    const { validFrom, validTo } = new X509Certificate(clientCertificatePem);
    if (nowMs > Date.parse(validTo)) return `, which expired ${rfc3339(Date.parse(validTo))}`;
    return nowMs < Date.parse(validFrom) ? `, which is valid from ${rfc3339(Date.parse(validFrom))}` : "";
  } catch {
    return ""; // Not a certificate: the first connection reports it.
  }
}

/** Adds a client's identity to a request's headers: the token, and the headers of a login provider or impersonation. */
export async function addIdentity(headers: AskingHeaders, { token, authorize }: RestConfig): Promise<void> {
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  await authorize?.(headers);
}
