import type { Ctx } from "../../../trace/ctx.js";
import type { RequestFact } from "../../../trace/events.js";
import type { Cause, Trace } from "../../../trace/trace.js";
import { formatTraceparent, TRACEPARENT } from "../../../trace/traceparent.js";
import { LabError, messageOf } from "../../../util/errors.js";
import { StreamError } from "../../streaming/bytes.js";
import type { DialOptions, RefusedUpgrade } from "../../streaming/dial.js";
import { refusal, statusMessage } from "../rest/answers.js";
import type { AskingHeaders, KubeResponse, RestConfig } from "../rest/client.js";
import { addIdentity, identityInWords, refusedIdentity } from "../rest/identity.js";
import { tlsOf } from "../rest/tls.js";
import { explainTransportError } from "../rest/transport-errors.js";

/** The API server to request streams from, and the trace for the requests. */
export interface StreamClient extends Ctx {
  readonly config: RestConfig;
  /** default: `kubelab` */
  readonly userAgent?: string;
  /** learns the audit IDs of the requests; undefined if the servers run in other processes */
  readonly story?: { follow(auditIds: readonly string[]): void } | undefined;
}

/** A session with the cause of its frames and its end. */
export interface ConnectedStreams<Session> {
  readonly session: Session;
  /** the id of the accepted request's fact, if a trace keeps causes */
  readonly cause: Cause;
}

/** One way to request a session, for example a subprotocol. */
export interface Attempt<Session> {
  readonly method: "GET" | "POST";
  /** for the trace: `SPDY` */
  readonly name: string;
  connect(dial: StreamDial): Promise<RefusedUpgrade | { readonly outcome: "connected"; readonly session: Session }>;
  /** the negotiated protocol, for the trace */
  agreed(session: Session): string;
}

export interface StreamDial extends Required<Pick<DialOptions, "headers" | "tls">> {
  readonly url: string;
}

/**
 * Requests streams from the API server, one attempt after the other until one is accepted. Each attempt is a fact.
 *
 * Mirrors client-go/tools/remotecommand/fallback.go (FallbackExecutor). Differs: falls back after any refusal except
 * those about the request itself (401, 403 with a Status, 404).
 *
 * @param path with its query
 * @param attempts connect with their request's fact as the cause
 * @throws LabError as the API client; CLUSTER_UNREACHABLE if the API server does not reach the kubelet
 */
export async function connectStreams<Session>(
  client: StreamClient,
  path: string,
  attempts: readonly Attempt<Session>[],
  signal: AbortSignal,
): Promise<ConnectedStreams<Session>> {
  const { config, clock, random, trace, story } = client;
  const auditId = random.uuid();
  story?.follow([auditId]);
  const headers: AskingHeaders = { "Audit-ID": auditId, "User-Agent": "kubelab" };
  await addIdentity(headers, config);
  const dial = { url: `${config.server}${path}`, tls: config.proxyAgent ?? tlsOf(config) };
  let last: RefusedUpgrade | undefined;
  for (const [index, attempt] of attempts.entries()) {
    const startMs = clock.now();
    const { id, cause, header } = requestCause(trace);
    const report = (rest: Partial<RequestFact>) => {
      const durationMs = clock.now() - startMs;
      reportRequest(client, { method: attempt.method, path, durationMs, auditId, ...rest }, id);
    };
    const connect = () => attempt.connect({ ...dial, headers: { ...headers, ...header } });
    const answer = await trace.because(cause, connect).catch((error: unknown) => {
      signal.throwIfAborted();
      const failure = explained(error, config, path, clock.now());
      report({ failure: messageOf(failure) });
      throw failure;
    });
    if (answer.outcome === "connected") {
      report({ status: 101, outcome: attempt.agreed(answer.session) });
      return { session: answer.session, cause };
    }
    report({ status: answer.status, outcome: refusalText(answer) });
    last = answer;
    if (isAboutRequest(answer)) break;
    const next = attempts[index + 1];
    if (next !== undefined) reportFallback(trace, attempt.name, next.name);
  }
  throw refused(client, path, last);
}

/** Another protocol would be refused too. A 403 without a body means that the subprotocol was refused. */
function isAboutRequest({ status, body }: RefusedUpgrade): boolean {
  return status === 401 || status === 404 || (status === 403 && body.length > 0);
}

function reportFallback(trace: Trace, refusedName: string, nextName: string): void {
  const upstream = { file: "staging/src/k8s.io/client-go/tools/remotecommand/fallback.go", func: "StreamWithContext" };
  const what = `try again with ${nextName}`;
  const why = `${refusedName} was refused: a server on the way may be too old for it`;
  trace.emit({ kind: "decision", what, why, upstream }, { actor: "user", level: 1 });
}

/** The id of a request that is reported later, and how it is passed on if a trace keeps causes. */
export function requestCause(trace: Trace): {
  readonly id: string;
  readonly cause: Cause;
  readonly header: AskingHeaders;
} {
  const id = trace.newId();
  if (!trace.wantsCauses) return { id, cause: {}, header: {} };
  return { id, cause: { causedBy: id }, header: { [TRACEPARENT]: formatTraceparent(id) } };
}

/** Reports a request for streams or for a log, which bypasses the API client's own report. */
export function reportRequest(
  { config, trace }: StreamClient,
  fact: Omit<RequestFact, "kind" | "server" | "identity">,
  id: string,
): void {
  if (!trace.wants(1)) return;
  const identity = identityInWords(config);
  trace.emit({ kind: "request", server: config.server, identity, ...fact }, { actor: "user", level: 1, id });
}

function explained(error: unknown, config: RestConfig, path: string, nowMs: number): unknown {
  const { server, proxyAgent } = config;
  if (!(error instanceof StreamError)) return error;
  const what = path.split("?")[0] ?? path;
  const context = { server, what, nowMs, timeoutMs: 0, viaProxy: proxyAgent !== undefined, config };
  const explanation = explainTransportError(error.cause ?? error, context);
  if (explanation instanceof LabError) return explanation;
  const hint = "The server's answer does not follow the protocol: -v 2 --frames shows it.";
  return new LabError("CLUSTER_UNREACHABLE", `no streams from ${server}: ${error.message}`, hint, { cause: error });
}

/** Converts a refusal to a response of the API client. */
function responseOf({ status, headers, body }: RefusedUpgrade): KubeResponse {
  const text = body.toString();
  try {
    return { status, headers, body: JSON.parse(text) as unknown };
  } catch {
    return { status, headers, body: text };
  }
}

function refusalText(answer: RefusedUpgrade): string {
  if (answer.body.length === 0) return `${answer.statusText} (no further message)`;
  return statusMessage(responseOf(answer));
}

function refused({ config, clock }: StreamClient, path: string, answer: RefusedUpgrade | undefined): LabError {
  const what = path.split("?")[0] ?? path;
  if (answer === undefined)
    return new LabError("FAILED", `${what}: no protocol to request it with`, "Name a protocol.");
  const response = responseOf(answer);
  const message = statusMessage(response);
  if (answer.status >= 500) {
    const backend = backendProblem(what, `${answer.status} ${message}`);
    if (backend !== undefined) return backend;
  }
  if (answer.status === 403 && answer.body.length === 0) return subprotocolRefused(what);
  return refusal(response, what, refusedIdentity(config, clock.now()));
}

/** Explains an API server's message about a kubelet that it cannot reach. Returns undefined for other messages. */
export function backendProblem(what: string, message: string): LabError | undefined {
  const error = (code: "CLUSTER_NOT_TRUSTED" | "CLUSTER_UNREACHABLE", hint: string) =>
    new LabError(code, `${what} was refused: ${message}`, hint);
  if (message.includes("x509:")) {
    return error(
      "CLUSTER_NOT_TRUSTED",
      "The API server does not trust the kubelet's serving certificate: sign it with the CA in the API server's " +
        "--kubelet-certificate-authority, for example with a CSR for kubernetes.io/kubelet-serving.",
    );
  }
  // A Go kubelet without a certificate sends "internal error", OpenSSL sends "handshake failure".
  if (/remote error: tls: (internal error|handshake failure)/.test(message)) {
    return error(
      "CLUSTER_UNREACHABLE",
      "The kubelet probably has no serving certificate yet: find its CSR for kubernetes.io/kubelet-serving with kubectl get csr, " +
        "and approve it.",
    );
  }
  if (!/error dialing backend|dial tcp|connection refused/.test(message)) return undefined;
  const hint = "The kubelet of the pod's node does not answer the API server: does it run? See kubectl get nodes.";
  return error("CLUSTER_UNREACHABLE", hint);
}

function subprotocolRefused(what: string): LabError {
  return new LabError(
    "REFUSED",
    `${what} was refused: 403, which is how kubelets and runtimes refuse an unknown subprotocol`,
    "Use --protocol v4 or spdy; v5 needs an API server of 1.30 or newer (--kube-version 1.30), which translates it.",
  );
}
