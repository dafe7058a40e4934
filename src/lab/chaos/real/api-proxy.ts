import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { TLSSocket } from "node:tls";
import { Exchange } from "../../../cluster/apiserver/endpoints/exchange.js";
import type { ServerFaults } from "../../../cluster/apiserver/endpoints/faults/server-faults.js";
import { readBody } from "../../../cluster/apiserver/endpoints/read-body.js";
import { requestInfo, splitTarget } from "../../../cluster/apiserver/endpoints/request-info.js";
import { writeStatus } from "../../../cluster/apiserver/endpoints/responsewriters/answer.js";
import { handleWithCause } from "../../../cluster/apiserver/server/client-report.js";
import { faultyServing } from "../../../cluster/control-plane/faulty-serving.js";
import type { WatchEvent } from "../../../staging/apimachinery/api/meta.js";
import { StatusError, unauthorized } from "../../../staging/apimachinery/errors.js";
import { readLines } from "../../../staging/client-go/rest/body.js";
import type { AskingHeaders, RestConfig } from "../../../staging/client-go/rest/client.js";
import { HttpTransport } from "../../../staging/client-go/rest/http.js";
import { addIdentity } from "../../../staging/client-go/rest/identity.js";
import { createApiServerCertificate, createAuthority } from "../../../staging/pki/authority.js";
import { ClientCertificateAuthenticator } from "../../../staging/server/authentication/client-certificates.js";
import {
  createServer,
  listen,
  MAX_HEADER_BYTES,
  openSockets,
  portOf,
  useCertificate,
} from "../../../staging/server/serve.js";
import type { Ctx } from "../../../trace/ctx.js";
import { defined } from "../../../util/defined.js";

const HOST = "127.0.0.1";
/** As the API server has them, in ms. */
const LIMITS = { headersMs: 32_000, requestMs: 90_000, idleMs: 90_000, maxHeaderBytes: MAX_HEADER_BYTES };
/** Headers of one connection, and those that the proxy writes itself. */
const NOT_PASSED =
  /^(?:host|connection|keep-alive|transfer-encoding|te|upgrade|content-length|accept-encoding|authorization|impersonate-.*)$/;
const NOT_PASSED_BACK = /^(?:connection|keep-alive|transfer-encoding)$/;

/** The API server behind a proxy. */
export interface ProxiedServer {
  /** its administrator's */
  readonly config: RestConfig;
  /** PEM: the CAs of its clients */
  readonly clientCaPem: string;
}

/** A listening proxy. */
export interface ApiProxy {
  /** the administrator's way through the proxy */
  readonly admin: RestConfig;
  close(): Promise<void>;
}

interface ProxyDeps extends Ctx {
  readonly faults: ServerFaults;
  readonly closing: AbortSignal;
  readonly certificates: ClientCertificateAuthenticator;
  /** of the administrator */
  readonly config: RestConfig;
  readonly adminToken: string;
  /** connections with the administrator's identity, and without any */
  readonly asAdmin: HttpTransport;
  readonly asNobody: HttpTransport;
}

/**
 * Opens a proxy before an API server. Its faults meet the requests and watches that go through it, as they meet those of the embedded
 * server. A client certificate ends at the proxy: the request goes on as the administrator's, who impersonates its user. A token goes on
 * as it is.
 */
export async function openApiProxy(
  ctx: Ctx,
  faults: ServerFaults,
  { config, clientCaPem }: ProxiedServer,
): Promise<ApiProxy> {
  const { random } = ctx;
  const { server: address, caPem, tlsServerName, insecureSkipTlsVerify, proxyAgent } = config;
  const ca = await createAuthority(ctx, { commonName: "kubelab-chaos" });
  const serving = await createApiServerCertificate(ca, ctx);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const adminToken = random.uuid();
  const deps: ProxyDeps = {
    ...ctx,
    faults,
    closing: closing.signal,
    certificates: new ClientCertificateAuthenticator(clientCaPem, ctx.clock),
    config,
    adminToken,
    asAdmin: new HttpTransport(config),
    asNobody: new HttpTransport({
      server: address,
      ...defined({ caPem, tlsServerName, insecureSkipTlsVerify, proxyAgent }),
    }),
  };
  const pair = { certificatePem: serving.certificatePem, keyPem: serving.privateKeyPem };
  const server = createServer({ tls: { pair, clientCaPem }, ...LIMITS });
  const connections = openSockets(server, "connection");
  const endConnections = () => {
    for (const connection of connections) connection.destroy();
  };
  server.on("request", (request, response) => void serve(deps, request, response));
  faults.setCertificate = async (how) => {
    const { certificatePem, privateKeyPem } = how === undefined ? serving : await faultyServing(ca, ctx, how);
    useCertificate(server, { certificatePem, keyPem: privateKeyPem }, clientCaPem);
    endConnections();
  };
  await listen(server, HOST, 0);
  return {
    // Its kubelets know the API server by the second CA, when it connects to them.
    admin: {
      server: `https://${HOST}:${portOf(server)}`,
      caPem: `${ca.certificatePem.trimEnd()}\n${clientCaPem}`,
      token: adminToken,
    },
    async close() {
      closing.abort();
      const ended = new Promise<void>((resolve) => server.close(() => resolve()));
      endConnections();
      await ended;
      deps.asAdmin.close();
      deps.asNobody.close();
    },
  };
}

async function serve(deps: ProxyDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = splitTarget(request.url ?? "/");
  if (target === undefined) return void response.writeHead(400).end();
  const query = new URLSearchParams(target.query);
  const info = requestInfo(request.method ?? "", target.path, query);
  const auditId = String(request.headers["audit-id"] ?? deps.random.uuid());
  const exchange = new Exchange(request, response, info, query, auditId, deps.clock);
  await handleWithCause(deps.trace, exchange, async () => {
    try {
      await meetAndPassOn(deps, exchange);
    } catch (error) {
      // An API server that cannot be reached answers nothing, and a broken answer must not look complete.
      if (!(error instanceof StatusError) || response.headersSent) response.destroy();
      else if (!response.destroyed) await writeStatus(exchange, error.status);
    }
  });
}

/** @throws StatusError the answer of a fault, or of the proxy; Node's error */
async function meetAndPassOn(deps: ProxyDeps, exchange: Exchange): Promise<void> {
  const { faults, closing, trace } = deps;
  const { request, response, method, info } = exchange;
  const { transport, headers } = await asUser(deps, exchange);
  await faults.meet(exchange, { trace, closing });
  const body = await readBody(exchange);
  const signal = exchange.abortSignal(closing);
  const isWatch = info.verb === "watch";
  const sent = body.length === 0 ? { body: undefined } : { body };
  if (sent.body !== undefined) headers["Content-Length"] = String(body.length);
  const answer = await transport.send({ method, path: request.url ?? "/", headers, isWatch, ...sent }, signal);
  response.writeHead(answer.statusCode ?? 502, passed(answer, NOT_PASSED_BACK));
  if (!isWatch || answer.statusCode !== 200) return pipeline(answer, response);
  exchange.began(answer.statusCode);
  response.flushHeaders();
  await pipeline(watchLines(faults.watches.meet(exchange, eventsOf(answer), trace)), response);
}

async function* eventsOf(answer: IncomingMessage): AsyncGenerator<WatchEvent> {
  for await (const line of readLines(answer)) yield JSON.parse(line) as WatchEvent;
}

async function* watchLines(events: AsyncIterable<WatchEvent>): AsyncGenerator<string> {
  for await (const event of events) yield `${JSON.stringify(event)}\n`;
}

/** Sets the exchange's user, if a certificate names it. @throws StatusError 401 for a certificate of another CA */
async function asUser(deps: ProxyDeps, exchange: Exchange) {
  const { certificates, config, adminToken, asAdmin, asNobody } = deps;
  const { request } = exchange;
  const headers: AskingHeaders = passed(request, NOT_PASSED);
  const { authorization } = request.headers;
  const certificate = (request.socket as TLSSocket).getPeerX509Certificate()?.raw;
  if (certificate === undefined) {
    const isAdmin = authorization === `Bearer ${adminToken}`;
    if (isAdmin) await addIdentity(headers, config);
    else if (authorization !== undefined) headers["Authorization"] = authorization;
    return { transport: isAdmin ? asAdmin : asNobody, headers };
  }
  const known = certificates.authenticate(certificate);
  if (known?.outcome !== "authenticated") throw unauthorized();
  const { user } = known;
  exchange.user = user;
  await addIdentity(headers, config);
  headers["Impersonate-User"] = user.username;
  headers["Impersonate-Group"] = [...user.groups];
  return { transport: asAdmin, headers };
}

function passed({ headers }: IncomingMessage, not: RegExp): AskingHeaders {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined || not.test(name) ? [] : [[name, value]])),
  );
}
