/** Connection errors to a kubelet in the words of Go's standard library, which clients expect. */

interface SystemError {
  readonly code?: string;
  readonly message: string;
  readonly reason?: string;
  readonly cert?: { readonly subjectaltname?: string };
}

const UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority";

/** By Node's code of a TLS error. */
const CERTIFICATE_PROBLEMS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  CERT_SIGNATURE_FAILURE: UNKNOWN_AUTHORITY,
  CERT_UNTRUSTED: UNKNOWN_AUTHORITY,
  CERT_HAS_EXPIRED: "x509: certificate has expired or is not yet valid",
  CERT_NOT_YET_VALID: "x509: certificate has expired or is not yet valid",
  INVALID_PURPOSE: "x509: certificate specifies an incompatible key usage",
};

/** TLS alerts of the peer about our own certificate. */
const ALERTS: readonly (readonly [RegExp, string])[] = [
  [/BAD_CERTIFICATE/, "remote error: tls: bad certificate"],
  [/UNKNOWN_CA/, "remote error: tls: unknown certificate authority"],
  [/CERTIFICATE_EXPIRED/, "remote error: tls: expired certificate"],
  [/CERTIFICATE_UNKNOWN/, "remote error: tls: unknown certificate"],
  [/CERTIFICATE_REQUIRED/, "remote error: tls: certificate required"],
  [/HANDSHAKE_FAILURE/, "remote error: tls: handshake failure"],
];

/** The same alerts, if only their number is known. */
const ALERT_NUMBERS: Readonly<Record<string, string>> = {
  "40": "remote error: tls: handshake failure",
  "42": "remote error: tls: bad certificate",
  "45": "remote error: tls: expired certificate",
  "46": "remote error: tls: unknown certificate",
  "48": "remote error: tls: unknown certificate authority",
  "80": "remote error: tls: internal error",
  "116": "remote error: tls: certificate required",
};

/** @param address `127.0.0.1:10250` */
export function goConnectError(error: SystemError, address: string): string {
  const { code = "", message } = error;
  const problem = CERTIFICATE_PROBLEMS[code];
  if (problem !== undefined) return problem;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return nameProblem(error, address);
  switch (code) {
    case "ECONNREFUSED":
      return connectionRefused(address);
    case "EHOSTUNREACH":
      return `dial tcp ${address}: connect: no route to host`;
    case "ENETUNREACH":
      return `dial tcp ${address}: connect: network is unreachable`;
    case "ETIMEDOUT":
      return `dial tcp ${address}: i/o timeout`;
    case "ENOTFOUND":
      return `dial tcp: lookup ${hostOf(address)}: no such host`;
    // Go's message depends on which read hit the end; most often it is the first line of the response.
    case "ECONNRESET":
      return message.includes("hang up") ? "EOF" : `read tcp ${address}: read: connection reset by peer`;
    case "EPIPE":
      return `write tcp ${address}: write: broken pipe`;
    case "EPROTO":
      return alertText(message) ?? NO_TLS;
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return NO_TLS;
    default:
      return ALERTS.find(([pattern]) => pattern.test(code))?.[1] ?? message;
  }
}

const NO_TLS = "tls: first record does not look like a TLS handshake";

function alertText(message: string): string | undefined {
  const [, number = ""] = /SSL alert number (\d+)/.exec(message) ?? [];
  return ALERT_NUMBERS[number];
}

export function connectionRefused(address: string): string {
  return `dial tcp ${address}: connect: connection refused`;
}

/** Compares the host with the names in the certificate; the message lists them like Go. */
function nameProblem({ cert }: SystemError, address: string): string {
  const host = hostOf(address);
  const names = (cert?.subjectaltname ?? "").split(", ").flatMap((one) => /^(DNS|IP Address):(.+)$/.exec(one) ?? []);
  const ips = names.filter((_, i) => names[i - 1] === "IP Address");
  const dns = names.filter((_, i) => names[i - 1] === "DNS");
  if (/^[\d.]+$|:/.test(host)) {
    if (ips.length === 0) return `x509: cannot validate certificate for ${host} because it doesn't contain any IP SANs`;
    return `x509: certificate is valid for ${ips.join(", ")}, not ${host}`;
  }
  if (dns.length === 0) return `x509: certificate is not valid for any names, but wanted to match ${host}`;
  return `x509: certificate is valid for ${dns.join(", ")}, not ${host}`;
}

function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(":")).replace(/^\[|\]$/g, "");
}
