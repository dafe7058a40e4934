import type { Status } from "../../apimachinery/api/meta.js";
import { refusal as refusalError, statusMessage } from "../../client-go/rest/answers.js";
import type { AskingHeaders, KubeResponse, RestConfig } from "../../client-go/rest/client.js";
import { addIdentity, identityInWords } from "../../client-go/rest/identity.js";
import { tlsOf } from "../../client-go/rest/tls.js";
import { explainTransportError } from "../../client-go/rest/transport-errors.js";
import { StreamError } from "../../streaming/bytes.js";
import type { DialOptions, RefusedUpgrade } from "../../streaming/dial.js";
import type { RequestTrace } from "../../testbed/request-trace.js";
import type { RequestFact } from "../../trace/events.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { LabError, messageOf } from "../../util/errors.js";
import type { Random } from "../../util/random.js";

/** Whom to ask, as whom, and where that is told. */
export interface StreamClient {
  readonly config: RestConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly trace: Trace;
  /** of servers of this process; undefined: they are elsewhere */
  readonly story: RequestTrace | undefined;
}

/** One way to ask, for example a subprotocol. `agreed` tells what a success agreed on. */
export interface Attempt<T> {
  readonly method: "GET" | "POST";
  /** as a reader knows it: `SPDY` */
  readonly name: string;
  connect(dial: StreamDial): Promise<RefusedUpgrade | { readonly outcome: "connected"; readonly value: T }>;
  agreed(value: T): string;
}

/** What a connection is made with. */
export interface StreamDial extends Required<Pick<DialOptions, "headers" | "tls">> {
  readonly url: string;
}

/**
 * Asks the API server for streams, one way after the other until one is not refused. Each attempt is a fact.
 * @param path with its query
 * @throws LabError as the API client; CLUSTER_UNREACHABLE when the API server does not reach the kubelet
 */
export async function connectStreams<T>(
  client: StreamClient,
  path: string,
  attempts: readonly Attempt<T>[],
  signal: AbortSignal,
): Promise<T> {
  const { config, clock, random, story } = client;
  const auditId = random.uuid();
  story?.follow([auditId]);
  const dial: StreamDial = {
    url: `${config.server}${path}`,
    headers: await streamHeaders(config, auditId),
    tls: config.proxyAgent ?? tlsOf(config),
  };
  let last: RefusedUpgrade | undefined;
  for (const [index, attempt] of attempts.entries()) {
    const startMs = clock.now();
    const report = (rest: Partial<RequestFact>) => reportAttempt(client, attempt.method, path, auditId, startMs, rest);
    const answer = await attempt.connect(dial).catch((error: unknown) => {
      signal.throwIfAborted();
      const failure = explained(error, config, path, clock.now());
      report({ failure: messageOf(failure) });
      throw failure;
    });
    if (answer.outcome === "connected") {
      report({ status: 101, outcome: attempt.agreed(answer.value) });
      return answer.value;
    }
    report({ status: answer.status, outcome: wordsOf(answer) });
    last = answer;
    if (isAboutRequest(answer)) break;
    const next = attempts[index + 1];
    if (next !== undefined) tellFallback(client.trace, attempt.name, next.name);
  }
  throw refused(client, path, last);
}

/** How an identity shows itself in the request. */
async function streamHeaders(config: RestConfig, auditId: string): Promise<AskingHeaders> {
  const headers: AskingHeaders = { "Audit-ID": auditId, "User-Agent": "kubelab" };
  await addIdentity(headers, config);
  return headers;
}

/** Another protocol would change nothing: a Status answers the request itself. Kubelets refuse a subprotocol without one. */
function isAboutRequest({ status, body }: RefusedUpgrade): boolean {
  return status === 401 || status === 404 || (status === 403 && body.length > 0);
}

function tellFallback(trace: Trace, refusedName: string, nextName: string): void {
  const upstream = { file: "staging/src/k8s.io/client-go/tools/remotecommand/fallback.go", func: "StreamWithContext" };
  const what = `ask once more, by ${nextName}`;
  const why = `${refusedName} was refused: a server on the way may be too old for it`;
  trace.emit({ kind: "decision", what, why, upstream }, { actor: "user", level: 1 });
}

function reportAttempt(
  { config, clock, trace }: StreamClient,
  method: "GET" | "POST",
  path: string,
  auditId: string,
  startMs: number,
  rest: Partial<RequestFact>,
): void {
  if (!trace.wants(1)) return;
  const identity = identityInWords(config);
  const durationMs = clock.now() - startMs;
  const fact = {
    kind: "request",
    method,
    path,
    server: config.server,
    identity,
    durationMs,
    auditId,
    ...rest,
  } as const;
  trace.emit(fact, { actor: "user", level: 1 });
}

function explained(error: unknown, { server, proxyAgent }: RestConfig, path: string, nowMs: number): unknown {
  if (!(error instanceof StreamError)) return error;
  const what = path.split("?")[0] ?? path;
  const context = { server, what, nowMs, timeoutMs: 0, viaProxy: proxyAgent !== undefined };
  const explanation = explainTransportError(error.cause ?? error, context);
  if (explanation instanceof LabError) return explanation;
  const hint = "The server answered with something else than was asked for: -v 2 --frames shows what.";
  return new LabError("CLUSTER_UNREACHABLE", `no streams from ${server}: ${error.message}`, hint, { cause: error });
}

/** The answer as the API client has it. */
function responseOf({ status, headers, body }: RefusedUpgrade): KubeResponse {
  const text = body.toString();
  try {
    return { status, headers, body: JSON.parse(text) as unknown };
  } catch {
    return { status, headers, body: text };
  }
}

function wordsOf(answer: RefusedUpgrade): string {
  if (answer.body.length === 0) return `${answer.statusText} (nothing else is said)`;
  return statusMessage(responseOf(answer));
}

const DIALING = /error dialing backend|dial tcp|connection refused/;

function refused({ config }: StreamClient, path: string, answer: RefusedUpgrade | undefined): LabError {
  const what = path.split("?")[0] ?? path;
  if (answer === undefined) return new LabError("FAILED", `${what}: there was nothing to ask with`, "Name a protocol.");
  const response = responseOf(answer);
  const message = statusMessage(response);
  if (answer.status >= 500) {
    const backend = backendProblem(what, `${answer.status} ${message}`);
    if (backend !== undefined) return backend;
  }
  if (answer.status === 403 && answer.body.length === 0) return subprotocolRefused(what);
  return refusalError(response, what, identityInWords(config));
}

/** What an API server says of a kubelet that it does not reach, with what to do; undefined: it is about something else. */
export function backendProblem(what: string, message: string): LabError | undefined {
  if (message.includes("x509:")) {
    const hint =
      "The API server does not trust the kubelet's serving certificate: sign it with the CA that the API server is given " +
      "(--kubelet-certificate-authority), for example by a CSR of kubernetes.io/kubelet-serving.";
    return new LabError("CLUSTER_NOT_TRUSTED", `${what} was refused: ${message}`, hint);
  }
  // A Go kubelet without a certificate says "internal error", OpenSSL that the handshake failed.
  if (/remote error: tls: (internal error|handshake failure)/.test(message)) {
    const hint =
      "The kubelet has no serving certificate yet, most likely: look for its CSR of kubernetes.io/kubelet-serving with kubectl get csr, " +
      "and approve it.";
    return new LabError("CLUSTER_UNREACHABLE", `${what} was refused: ${message}`, hint);
  }
  if (!DIALING.test(message)) return undefined;
  const hint = "The kubelet of the pod's node does not answer the API server: does it run? See kubectl get nodes.";
  return new LabError("CLUSTER_UNREACHABLE", `${what} was refused: ${message}`, hint);
}

function subprotocolRefused(what: string): LabError {
  return new LabError(
    "REFUSED",
    `${what} was refused: 403, which is how kubelets and runtimes refuse a subprotocol that they do not know`,
    "Use --protocol v4 or spdy; v5 needs an API server of 1.30 or newer (--kube-version 1.30), which translates it.",
  );
}

/** The reason of a Status in a few words: for the trace. */
export function statusWords({ status, reason, message }: Status): string {
  if (status === "Success") return "Success";
  return [reason, message].filter((word) => word !== undefined).join(": ");
}
