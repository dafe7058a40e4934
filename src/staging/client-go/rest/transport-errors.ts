import type { DetailedPeerCertificate } from "node:tls";
import { isAbortError, LabError, type LabErrorCode } from "../../../util/errors.js";
import { rejectedCertificate } from "../../../util/net/tls-sessions.js";
import { rfc3339 } from "../../apimachinery/time.js";
import type { RestConfig } from "./client.js";
import { refusedIdentity } from "./identity.js";

/** The circumstances of a failed connection. */
export interface ConnectionContext {
  /** `https://host:port` */
  readonly server: string;
  /** `GET /version`, for timeouts */
  readonly what: string;
  /** Unix ms, by this machine's clock */
  readonly nowMs: number;
  readonly timeoutMs: number;
  /** true for a connection through the kubeconfig's proxy */
  readonly viaProxy?: boolean;
  /** the config whose client certificate the server may refuse */
  readonly config: RestConfig;
}

interface Explanation {
  readonly code: LabErrorCode;
  readonly message: string;
  readonly hint: string;
}

/**
 * Turns Node's error for a connection without an answer into a LabError with a hint.
 * Aborts are returned unchanged.
 */
export function explainTransportError(error: unknown, context: ConnectionContext): unknown {
  if (!(error instanceof Error) || error instanceof LabError || isAbortError(error)) return error;
  const explanation = (context.viaProxy ? explainProxy(error, context) : undefined) ?? explain(error, context);
  if (explanation === undefined) return error;
  return new LabError(explanation.code, explanation.message, explanation.hint, { cause: error });
}

/** The error of a request that waited too long. */
export function timeoutError(context: ConnectionContext): LabError {
  return new LabError(
    "CLUSTER_UNREACHABLE",
    `${context.server} did not answer ${context.what} within ${context.timeoutMs / 1000} s`,
    "Check that the address leads to an API server and that no firewall drops packets on the way.",
  );
}

/** TLS errors are the server's, because the tunnel through the proxy exists by then. */
function explainProxy(error: Error, { server }: ConnectionContext): Explanation | undefined {
  const code = errorCode(error);
  if (code !== "" && CONNECTION_ERRORS[code] === undefined) return undefined;
  const status = /^Bad response: (\d+)$/.exec(error.message)?.[1];
  const why = status === undefined ? code || error.message : `it answered ${status}`;
  return {
    code: "CLUSTER_UNREACHABLE",
    message: `${server} cannot be reached through the proxy of the kubeconfig: ${why}`,
    hint: "Check proxy-url in the kubeconfig, and that the proxy is running.",
  };
}

function explain(error: Error, { server, what, nowMs, config }: ConnectionContext): Explanation | undefined {
  // Go's decoder stops at a depth of 10,000. Here the first function that walks through the response runs out of stack.
  if (error instanceof RangeError && error.message.includes("call stack")) {
    return {
      code: "CLUSTER_NOT_TRUSTED",
      message: `the response of ${server} to ${what} is nested too deeply`,
      hint: "Check that the address leads to an API server.",
    };
  }
  const code = errorCode(error);
  const connection = CONNECTION_ERRORS[code];
  if (connection !== undefined) {
    return { code: "CLUSTER_UNREACHABLE", message: `${server} ${connection.says}`, hint: connection.hint };
  }
  if (UNKNOWN_CA.has(code)) {
    return {
      code: "CLUSTER_NOT_TRUSTED",
      message: `${server} shows a certificate that the expected CA did not sign`,
      hint: "Another server answers at this address, or the CA is an old one: take the CA from the cluster itself.",
    };
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return {
      code: "CLUSTER_NOT_TRUSTED",
      message: `the certificate of ${server} is for other names: ${altNames(error)}`,
      hint: "Use one of those names in the server's address, or set tls-server-name in the kubeconfig.",
    };
  }
  if (code === "CERT_NOT_YET_VALID" || code === "CERT_HAS_EXPIRED") return clockSkew(code, server, nowMs, error);
  if (NOT_TLS.has(code)) {
    return {
      code: "CLUSTER_NOT_TRUSTED",
      message: `${server} does not speak TLS: something answers there in the clear`,
      hint: "Nothing was sent to it. An API server's port speaks HTTPS (6443 as a rule): check the port.",
    };
  }
  if (code.startsWith("ERR_SSL_") && /ALERT/.test(code))
    return refusedByAlert(code, server, refusedIdentity(config, nowMs));
  if (code.startsWith("ERR_SSL_") || code === "EPROTO") {
    return {
      code: "CLUSTER_NOT_TRUSTED",
      message: `no TLS connection to ${server}: ${error.message.split("\n")[0]?.trim()}`,
      hint: "Check that an API server is at this address and that nothing between changes the connection.",
    };
  }
  return undefined;
}

/** Node's code. OpenSSL's errors while reading have a `reason` instead. */
function errorCode(error: Error): string {
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  if (typeof code === "string" && code !== "EPROTO") return code;
  if (typeof reason === "string") return `ERR_SSL_${reason.toUpperCase().replaceAll(" ", "_")}`;
  if (/wrong version number|packet length too long/.test(error.message)) return "ERR_SSL_WRONG_VERSION_NUMBER";
  return typeof code === "string" ? code : "";
}

const CONNECTION_ERRORS: Readonly<Record<string, { says: string; hint: string }>> = {
  ECONNREFUSED: {
    says: "refuses the connection: nothing listens on this port",
    hint: "Check the address and port, and that the API server runs.",
  },
  ECONNRESET: {
    says: "reset the connection",
    hint: "The server or something before it (a load balancer, a firewall) hung up: check its log.",
  },
  EPIPE: {
    says: "reset the connection",
    hint: "The server or something before it (a load balancer, a firewall) hung up: check its log.",
  },
  ENOTFOUND: {
    says: "has a host name that does not exist",
    hint: "Check the spelling of the server's name, and the DNS of this machine.",
  },
  EAI_AGAIN: {
    says: "has a host name that could not be looked up: the name server does not answer",
    hint: "Check the network and the DNS of this machine, then try again.",
  },
  ETIMEDOUT: {
    says: "does not answer: the connection timed out",
    hint: "Check the address, and that no firewall drops packets on the way.",
  },
  EHOSTUNREACH: { says: "cannot be reached: no route to the host", hint: "Check the address and the network." },
  ENETUNREACH: { says: "cannot be reached: no route to the network", hint: "Check the address and the network." },
  EADDRNOTAVAIL: { says: "has an address that cannot be connected to", hint: "Check the address and port." },
};

const UNKNOWN_CA = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "INVALID_CA",
]);

const NOT_TLS = new Set([
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
  "ERR_SSL_HTTP_REQUEST",
  "ERR_SSL_UNEXPECTED_MESSAGE",
]);

function altNames(error: Error): string {
  const names = (error as { cert?: { subjectaltname?: unknown } }).cert?.subjectaltname;
  return typeof names === "string" && names !== "" ? names : "no names";
}

function clockSkew(code: string, server: string, nowMs: number, error: Error): Explanation {
  const now = rfc3339(nowMs);
  const notYet = code === "CERT_NOT_YET_VALID";
  const certificate = rejectedCertificate(error);
  const [issuer, limit] = certificate === undefined ? ["", ""] : outsideValidity(certificate, notYet);
  const subject = `the ${issuer}certificate of ${server}`;
  return {
    code: "CLUSTER_NOT_TRUSTED",
    message: notYet
      ? `${subject} is not valid yet${limit}: by this machine's clock it is ${now}`
      : `${subject} has expired${limit}: by this machine's clock it is ${now}`,
    hint: notYet
      ? "Clock skew: this machine's clock is probably behind the cluster's. Set it (timedatectl, chronyc) and try again."
      : "If that time is right, the cluster must renew its certificate; if not (clock skew), set this machine's clock.",
  };
}

/** Which certificate of the chain is not valid, and since or until when: an issuer can have expired before its certificates. */
function outsideValidity(leaf: DetailedPeerCertificate, notYet: boolean): readonly [issuer: string, limit: string] {
  const startMs = (one: DetailedPeerCertificate) => Date.parse(one.valid_from);
  const endMs = (one: DetailedPeerCertificate) => Date.parse(one.valid_to);
  let worst = leaf;
  let issuer: DetailedPeerCertificate | undefined = leaf.issuerCertificate;
  for (let depth = 1; issuer !== undefined && depth <= MAX_CHAIN; depth++) {
    const isWorse = notYet ? startMs(issuer) > startMs(worst) : endMs(issuer) < endMs(worst);
    if (isWorse) worst = issuer;
    issuer = issuer.issuerCertificate;
  }
  const name = worst === leaf ? "" : `CA (CN=${worst.subject.CN}) behind the `;
  return [name, notYet ? ` (valid from ${rfc3339(startMs(worst))})` : ` (at ${rfc3339(endMs(worst))})`];
}

const MAX_CHAIN = 10;

/** The server ended the handshake. An alert about the client certificate means the same as a 401. */
function refusedByAlert(code: string, server: string, identity: string): Explanation {
  const alert = code
    .replace(/^ERR_SSL_.*ALERT_/, "")
    .toLowerCase()
    .replaceAll("_", " ");
  const aboutUs = /certificate|unknown ca/.test(alert);
  return {
    code: aboutUs ? "UNAUTHORIZED" : "CLUSTER_NOT_TRUSTED",
    message: aboutUs
      ? `${server} refuses the client ${identity} (TLS alert: ${alert})`
      : `${server} ended the TLS handshake (alert: ${alert})`,
    hint: aboutUs
      ? "Check that the certificate was issued by this cluster's CA and has not expired."
      : "Check that an API server is at this address and which TLS versions it speaks.",
  };
}
