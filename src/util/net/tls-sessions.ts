import { isIP } from "node:net";
import { type ConnectionOptions, connect, type DetailedPeerCertificate, type TLSSocket } from "node:tls";

/**
 * The client's identity, and the CAs that it trusts. A `secureContext` avoids parsing key and certificates for each
 * connection.
 */
export type TlsIdentity = Pick<
  ConnectionOptions,
  "ca" | "cert" | "key" | "secureContext" | "servername" | "rejectUnauthorized" | "checkServerIdentity"
>;

/** The server's address, as Node's HTTP client passes it. */
export interface TlsServer {
  readonly host?: string | null | undefined;
  readonly port?: number | string | null | undefined;
}

/** Node's types leave this method out. Without it Node reads the option `session` once too often, and no session is resumed. */
interface Resuming extends TLSSocket {
  setSession?(session: Buffer): void;
}

/** The number of servers whose session is kept; the oldest is dropped first. */
const MAX_SESSIONS = 100;

/**
 * Makes TLS connections with one identity, and resumes the first session of each server: both sides then need no
 * certificate and no signature. The server still knows the client, because its ticket holds the client's certificate.
 *
 * A session is used until the server refuses it or its ticket expires; then there is a full handshake with all checks,
 * and a new session. A server is not verified again when its session is resumed, so all sessions here share one
 * identity and one list of trusted CAs. Differs: Node's own agent reads a session twice for each connection, with the
 * certificate inside, and takes each new ticket, which is a third of a client's cost for a connection. Upstream's
 * transports keep no sessions.
 */
export class TlsSessions {
  /** by server */
  readonly #sessions = new Map<string, Buffer>();

  constructor(readonly identity: TlsIdentity) {}

  /** For HTTP/1.1. */
  connect({ host, port }: TlsServer): TLSSocket {
    const name = host ?? "localhost";
    const key = `${name} ${port}`;
    const known = this.#sessions.get(key);
    const socket = connect({
      // An address cannot be a server name, but the certificate is still checked against it.
      servername: isIP(name) === 0 ? name : "",
      ...this.identity,
      host: name,
      port: Number(port),
      ALPNProtocols: ["http/1.1"],
    });
    socket.setNoDelay(true);
    if (this.identity.rejectUnauthorized !== false) keepRejectedCertificate(socket);
    if (known === undefined) socket.once("session", (session) => this.#keep(key, session));
    else {
      (socket as Resuming).setSession?.(known);
      socket.once("secureConnect", () => {
        if (!socket.isSessionReused()) this.#forget(key, known);
      });
      socket.once("close", (isBroken) => {
        if (isBroken) this.#forget(key, known);
      });
    }
    return socket;
  }

  #keep(key: string, session: Buffer): void {
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size >= MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
    this.#sessions.set(key, session);
  }

  /** Another connection may have replaced it meanwhile. */
  #forget(key: string, session: Buffer): void {
    if (this.#sessions.get(key) === session) this.#sessions.delete(key);
  }
}

const CERTIFICATES = new WeakMap<Error, DetailedPeerCertificate>();

/** The certificate of the server whose verification failed with this error, with its issuers. */
export function rejectedCertificate(error: Error): DetailedPeerCertificate | undefined {
  return CERTIFICATES.get(error);
}

/** Node verifies in its own listener of "secure", and its types leave out how. */
interface Verifying extends TLSSocket {
  readonly _handle?: { verifyError?(): Error | null | undefined } | null;
}

/** A rejected connection has no certificate any more when its error is emitted. An accepted one is not read, because that takes time. */
function keepRejectedCertificate(socket: Verifying): void {
  let certificate: DetailedPeerCertificate | undefined;
  socket.prependOnceListener("secure", () => {
    if (socket._handle?.verifyError?.() instanceof Error) certificate = socket.getPeerCertificate(true);
  });
  socket.once("error", (error) => {
    if (certificate !== undefined) CERTIFICATES.set(error, certificate);
  });
}
