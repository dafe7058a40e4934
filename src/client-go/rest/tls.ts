import { createSecureContext, type SecureContext } from "node:tls";
import { LabError } from "../../util/errors.js";
import { TlsSessions } from "../../util/tls-sessions.js";
import type { RestConfig } from "./client.js";

/** Gone with the config that they are of. */
const SESSIONS = new WeakMap<RestConfig, TlsSessions>();

/**
 * How a config shows itself to TLS, and whom it trusts: read once, and shared by all who connect with it.
 *
 * Mirrors client-go/transport/cache.go (tlsTransportCache), which shares whole connections.
 *
 * @throws LabError BAD_FILE for a key or certificate that is none
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

const CERTIFICATE_PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/;

function secureContext(config: RestConfig): SecureContext {
  try {
    // OpenSSL takes a CA text without any certificate for an empty list, and every server for a stranger's.
    if (config.caPem !== undefined && !CERTIFICATE_PEM.test(config.caPem)) throw new Error("no certificate in the CA");
    return createSecureContext({
      ...(config.caPem === undefined ? {} : { ca: config.caPem }),
      ...(config.clientCertificatePem === undefined ? {} : { cert: config.clientCertificatePem }),
      ...(config.clientKeyPem === undefined ? {} : { key: config.clientKeyPem }),
      minVersion: "TLSv1.2",
    });
  } catch (cause) {
    throw badCredentials(cause);
  }
}

function badCredentials(cause: unknown): LabError {
  const mismatch = /key values mismatch|KEY_VALUES_MISMATCH/i.test(String(cause));
  return new LabError(
    "BAD_FILE",
    mismatch
      ? "the client key does not belong to the client certificate"
      : "the CA, client certificate or client key is not readable PEM",
    mismatch
      ? "Take key and certificate from the same place: they are made together."
      : "Look at the certificate and key that the kubeconfig holds or names.",
    { cause },
  );
}
