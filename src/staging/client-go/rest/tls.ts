import { createSecureContext, type SecureContext } from "node:tls";
import { defined } from "../../../util/defined.js";
import { LabError } from "../../../util/errors.js";
import { TlsSessions } from "../../../util/net/tls-sessions.js";
import type { RestConfig } from "./client.js";

/** Garbage-collected with their config. */
const SESSIONS = new WeakMap<RestConfig, TlsSessions>();

/**
 * The TLS credentials and the trusted CA of a config, read once and shared by all connections with it.
 *
 * Mirrors client-go/transport/cache.go (tlsTransportCache), which shares whole connections.
 *
 * @throws LabError BAD_FILE for an unreadable key or certificate
 */
export function tlsOf(config: RestConfig): TlsSessions {
  const known = SESSIONS.get(config);
  if (known !== undefined) return known;
  const { tlsServerName } = config;
  const sessions = new TlsSessions({
    secureContext: secureContext(config),
    rejectUnauthorized: config.insecureSkipTlsVerify !== true,
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
  });
  SESSIONS.set(config, sessions);
  return sessions;
}

function secureContext({ caPem, clientCertificatePem, clientKeyPem }: RestConfig): SecureContext {
  return fromPem(caPem, "in the kubeconfig, or in the files that it names", () =>
    createSecureContext({
      ...defined({ ca: caPem, cert: clientCertificatePem, key: clientKeyPem }),
      minVersion: "TLSv1.2",
    }),
  );
}

function hasCertificate(pem: string): boolean {
  const begin = pem.indexOf("-----BEGIN CERTIFICATE-----");
  return begin >= 0 && pem.includes("-----END CERTIFICATE-----", begin);
}

/**
 * Runs `read`, which parses a CA, a certificate and its key.
 * @param place where they are, for the hint
 * @throws LabError BAD_FILE if they cannot be read, or do not belong together
 */
export function fromPem<T>(caPem: string | undefined, place: string, read: () => T): T {
  try {
    // OpenSSL would accept a CA text without a certificate as an empty list, and then trust no server.
    if (caPem !== undefined && !hasCertificate(caPem)) throw new Error("no certificate in the CA");
    return read();
  } catch (cause) {
    throw badCredentials(cause, place);
  }
}

function badCredentials(cause: unknown, place: string): LabError {
  const mismatch = /key values mismatch|KEY_VALUES_MISMATCH/i.test(String(cause));
  return new LabError(
    "BAD_FILE",
    mismatch
      ? "the client key does not belong to the client certificate"
      : "the CA, client certificate or client key is not readable PEM",
    mismatch
      ? "Take key and certificate from the same place: they belong together."
      : `Check the certificate and key ${place}.`,
    { cause },
  );
}
