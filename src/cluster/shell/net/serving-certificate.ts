import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import type { Machine } from "../process/process.js";

const YEAR_MS = 365 * 24 * 3_600_000;

/** A certificate for `localhost` that a server signs itself. Its clients do not verify it (`curl -k`). */
export async function selfSignedContext({ clock, random }: Machine): Promise<SecureContext> {
  const { issueSelfSigned } = await import("../../../staging/pki/issue.js");
  const { generatePrivateKey, privateKeyPem, publicKeyDer } = await import("../../../staging/pki/keys.js");
  const key = await generatePrivateKey("ec");
  const nowMs = clock.now();
  const cert = issueSelfSigned(
    key,
    {
      subject: { commonName: "localhost", organization: [] },
      spkiDer: publicKeyDer(key),
      usages: ["digital signature", "key encipherment", "server auth"],
      sans: { dns: ["localhost"], ip: ["127.0.0.1"], email: [], uri: [] },
      notBeforeMs: nowMs,
      notAfterMs: nowMs + YEAR_MS,
    },
    random,
  );
  return createSecureContext({ cert, key: privateKeyPem(key) });
}

/** The server's side of TLS on a connection. Its `remoteAddress` is that of the connection. */
export function acceptTls(stream: Duplex, secureContext: SecureContext): Duplex {
  const secured = new TLSSocket(stream, { isServer: true, secureContext });
  // A client that breaks off is not an error of the server.
  secured.on("error", () => secured.destroy());
  stream.once("close", () => secured.destroy());
  const { remoteAddress, remotePort } = stream as TLSSocket;
  return Object.defineProperties(secured, {
    remoteAddress: { value: remoteAddress },
    remotePort: { value: remotePort },
  });
}
