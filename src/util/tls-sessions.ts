import { isIP } from "node:net";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";

/** As whom one connects, and whom one trusts. A `secureContext` saves reading key and certificates for each connection. */
export type TlsIdentity = Pick<
  ConnectionOptions,
  "ca" | "cert" | "key" | "secureContext" | "servername" | "rejectUnauthorized" | "checkServerIdentity"
>;

/** Where to connect to, as Node's HTTP says it. */
export interface TlsServer {
  readonly host?: string | null | undefined;
  readonly port?: number | string | null | undefined;
}

/** What Node itself does with the option `session`, once too often; not among its types. Without it nothing is resumed. */
interface Resuming extends TLSSocket {
  setSession?(session: Buffer): void;
}

/** Servers whose session is remembered; beyond it the oldest goes. */
const MAX_SESSIONS = 100;

/**
 * Makes TLS connections as one identity, and resumes with each server the session that it had first: both sides then need no
 * certificate and no signature. Who the client is stays known, as the server's ticket holds its certificate.
 *
 * A session serves until the server does not take it any more, or its ticket has expired; then there is a whole handshake,
 * with all checks, and a new one. A server whose session is resumed is not verified again: hence one identity, and one
 * list of whom it trusts, for all.
 * Differs: Node's own agent reads a session twice for each connection, with the certificate that is in it, and takes each new
 * ticket; that is a third of what a client does for a connection. Upstream's transports keep no sessions.
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
      // An address is no name to ask for, but what the certificate is checked for all the same.
      servername: isIP(name) === 0 ? name : "",
      ...this.identity,
      host: name,
      port: Number(port),
      ALPNProtocols: ["http/1.1"],
    });
    socket.setNoDelay(true);
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

  /** It may have been replaced meanwhile. */
  #forget(key: string, session: Buffer): void {
    if (this.#sessions.get(key) === session) this.#sessions.delete(key);
  }
}
