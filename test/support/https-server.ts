import type { KeyObject } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority } from "../../src/staging/pki/authority.js";
import type { CertificateAuthority } from "../../src/staging/pki/issue.js";
import { issueCertificate } from "../../src/staging/pki/issue.js";
import { generatePrivateKey, privateKeyPem, publicKeyDer } from "../../src/staging/pki/keys.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";

const DAY_MS = 86_400_000;
const random = new SystemRandom();

/** The properties of a test's server (or client) certificate. */
export interface LeafOptions {
  /** default: a new one */
  readonly key?: KeyObject;
  readonly ip?: readonly string[];
  readonly dns?: readonly string[];
  readonly commonName?: string;
  readonly organization?: readonly string[];
  /** days from now */
  readonly from?: number;
  readonly to?: number;
}

export function makeAuthority(): Promise<CertificateAuthority> {
  return createAuthority({ clock: new SystemClock(), random }, { commonName: "test-ca" });
}

/** A key pair with a certificate from `ca`. By default valid for 127.0.0.1 and one day. */
export async function makeLeaf(ca: CertificateAuthority, options: LeafOptions = {}) {
  const key = options.key ?? (await generatePrivateKey("ec"));
  const now = new SystemClock().now();
  const certificatePem = issueCertificate(
    ca,
    {
      subject: { commonName: options.commonName ?? "test", organization: options.organization ?? [] },
      spkiDer: publicKeyDer(key),
      usages: ["digital signature", "server auth", "client auth"],
      sans: { dns: options.dns ?? [], ip: options.ip ?? ["127.0.0.1"], email: [], uri: [] },
      notBeforeMs: now + (options.from ?? -1) * DAY_MS,
      notAfterMs: now + (options.to ?? 1) * DAY_MS,
    },
    random,
  );
  return { key, keyPem: privateKeyPem(key), certificatePem };
}

/** One request as a test server received it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

export type Answer =
  | { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> }
  /** handles the response directly: streams, resets, silence */
  | ((response: ServerResponse) => void);

/** A small HTTPS server on loopback, for tests of clients. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly seen: SeenRequest[];
  readonly connections: () => number;
  cutAll(): void;
}

export async function startHttpsServer(
  pair: { readonly keyPem: string; readonly certificatePem: string },
  answer: (request: SeenRequest) => Answer,
): Promise<TestServer> {
  const seen: SeenRequest[] = [];
  let connections = 0;
  const server = createServer({ key: pair.keyPem, cert: pair.certificatePem }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const { method = "", url = "", headers } = request;
    const one: SeenRequest = { method, path: url, headers, body: text === "" ? undefined : JSON.parse(text) };
    seen.push(one);
    const result = answer(one);
    if (typeof result === "function") return result(response);
    response.writeHead(result.status, { "Content-Type": "application/json", ...result.headers });
    response.end(typeof result.body === "string" ? result.body : JSON.stringify(result.body));
  });
  server.on("connection", () => {
    connections++;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    connections: () => connections,
    cutAll: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A Status as API servers write it. */
export function status(code: number, reason: string, message: string) {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason, message, code };
}
