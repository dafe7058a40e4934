import type { Duplex } from "node:stream";
import { connect } from "node:tls";
import { onAbort } from "../../../util/async/abort.js";

export interface TlsOptions {
  /** the server's name or address */
  readonly host: string;
  /** PEM; undefined: that of this machine's Node */
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** accept any certificate */
  readonly isInsecure?: boolean;
}

/** @throws Error with Node's code for a certificate that is not accepted; the signal's reason */
export function connectTls(stream: Duplex, options: TlsOptions, signal: AbortSignal): Promise<Duplex> {
  const { host, ca, cert, key, isInsecure } = options;
  const isName = /[a-z]/i.test(host) && !host.includes(":");
  return new Promise((resolve, reject) => {
    const secured = connect({
      socket: stream,
      host,
      servername: isName ? host.replace(/\.$/, "") : "",
      rejectUnauthorized: isInsecure !== true,
      ALPNProtocols: ["http/1.1"],
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    });
    const link = onAbort(signal, () => {
      secured.destroy();
      reject(signal.reason);
    });
    secured.once("secureConnect", () => {
      link[Symbol.dispose]();
      resolve(secured);
    });
    secured.on("error", (error) => {
      link[Symbol.dispose]();
      reject(signal.aborted ? signal.reason : error);
    });
  });
}
