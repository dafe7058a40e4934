import type { IncomingMessage } from "node:http";
import type { Ctx } from "../../../trace/ctx.js";
import type { Actor, RequestFact } from "../../../trace/events.js";
import { redactBody } from "../../../trace/redaction/redact-body.js";
import { versionOf } from "../../../trace/scope.js";
import { formatTraceparent, TRACEPARENT } from "../../../trace/traceparent.js";
import { ChildAbort, onAbort } from "../../../util/async/abort.js";
import { Deadlines } from "../../../util/async/deadlines.js";
import { SystemClock } from "../../../util/clock.js";
import { SmallSet } from "../../../util/collections/small-set.js";
import { defined } from "../../../util/defined.js";
import { isAbortError, LabError, messageOf } from "../../../util/errors.js";
import { isRecord } from "../../../util/records.js";
import { counted } from "../../../util/text/counted.js";
import { isStatus, type KubeObject } from "../../apimachinery/api/meta.js";
import { isSuccess, refusal, statusMessage, statusReason } from "./answers.js";
import { checkBody, NOT_AN_API_SERVER } from "./api-object.js";
import { readBody, readLines } from "./body.js";
import type { AskingHeaders, KubeClient, KubeRequest, KubeResponse, ReceivedEvent, RestConfig } from "./client.js";
import { type HttpExchange, HttpTransport } from "./http.js";
import { addIdentity, identityInWords, refusedIdentity } from "./identity.js";
import { withQuery } from "./paths.js";
import type { RequestObserver } from "./request-observer.js";
import { explainTransportError, timeoutError } from "./transport-errors.js";
import { warningsIn } from "./warnings.js";
import { withCause } from "./watch-report.js";

export interface ClientDeps extends Ctx {
  /** the sender of the requests, for the trace */
  readonly actor: Actor;
  /** which of several such senders: the node of a kubelet */
  readonly instance?: string;
  /** default `kubelab (OS/ARCH)` */
  readonly userAgent?: string;
  /** replaces the warning about an unverified server: the reason why it is used. No secret is sent to it. */
  readonly unverifiedBecause?: string;
  /** is called with each text of an answer's Warning headers. Mirrors rest.WarningHandler */
  readonly warn?: (text: string) => void;
  /** measures each request; default: no measurement */
  readonly observe?: RequestObserver;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** The header that passes the request's fact to the server. */
interface RequestIds {
  readonly id: string;
  readonly auditId: string;
}

/**
 * Creates a client of one API server with one identity.
 *
 * Mirrors client-go's rest.RESTClient over one http.Transport.
 * Differs: no client-side rate limit; reports each request to the trace.
 *
 * @throws LabError USAGE, BAD_FILE if the config allows no connection
 */
export function createClient(config: RestConfig, deps: ClientDeps): KubeClient {
  return new TracedClient(config, deps);
}

class TracedClient implements KubeClient {
  readonly #deps: ClientDeps;
  readonly #transport: HttpTransport;
  readonly #identity: string;
  readonly #userAgent: string;
  readonly #closing = new AbortController();
  /** requests and watches in progress */
  readonly #live = new SmallSet<AbortController>();
  /** Timeouts are for waiting people, so they use the wall clock at any speed of the lab's clock. */
  readonly #deadlines = new Deadlines(new SystemClock());
  /** While somebody holds the clock, time limits are due in its time. */
  readonly #heldDeadlines: Deadlines;

  constructor(
    readonly config: RestConfig,
    deps: ClientDeps,
  ) {
    this.#deps = deps;
    this.#heldDeadlines = new Deadlines(deps.clock);
    this.#transport = new HttpTransport(config);
    this.#identity = identityInWords(config);
    deps.trace.secrets.learn(config.token);
    this.#userAgent = deps.userAgent ?? `kubelab (${process.platform}/${process.arch})`;
    if (config.insecureSkipTlsVerify === true) {
      const text = `WARNING: the certificate of ${config.server} is not verified: it may be another server.`;
      const { unverifiedBecause } = deps;
      deps.trace.emit(
        { kind: "note", text: unverifiedBecause ?? text },
        { actor: deps.actor, level: unverifiedBecause ? 1 : 0 },
      );
    }
  }

  async request<T = unknown>(request: KubeRequest): Promise<KubeResponse<T>> {
    const report = this.#begin(request);
    const wait = this.#waitFor(request);
    try {
      await this.#turn(wait.signal);
      const response = await this.#transport.send(await this.#exchange(request, report), wait.signal);
      const body = await readBody(response, undefined, request.budget);
      const answer: KubeResponse = { status: response.statusCode ?? 0, headers: response.headers, body };
      checkBody(request, answer);
      report.answered(answer);
      return answer as KubeResponse<T>;
    } catch (error) {
      throw report.failed(wait.explain(error));
    } finally {
      wait.done();
    }
  }

  async expect<T = unknown>(request: KubeRequest): Promise<T> {
    const response = await this.request<T>(request);
    if (isSuccess(response)) return response.body;
    throw this.#refusal(response, request);
  }

  /** A server's message can repeat a secret from the request. */
  #refusal(answer: KubeResponse, { method, path }: KubeRequest): LabError {
    const { trace, clock } = this.#deps;
    return refusal(trace.secrets.maskAll(answer), `${method} ${path}`, refusedIdentity(this.config, clock.now()));
  }

  async *watch<T extends KubeObject = KubeObject>(
    path: string,
    query: KubeRequest["query"] & object,
    signal: AbortSignal,
  ): AsyncGenerator<ReceivedEvent<T>> {
    const request: KubeRequest = { method: "GET", path, query: { ...query, watch: true }, signal };
    if (signal.aborted) return;
    using cut = new ChildAbort(signal);
    try {
      for await (const line of readLines(await this.#openWatch({ ...request, signal: cut.signal }))) {
        const event = parseEvent(line) as ReceivedEvent<T>;
        this.#deps.trace.secrets.learnBody(path, event);
        await this.#turn(signal);
        yield this.#deps.trace.wantsCauses ? withCause(this.#deps, path, event) : event;
      }
    } catch (error) {
      if (signal.aborted || (isAbortError(error) && this.#closing.signal.aborted)) return;
      throw explainTransportError(error, this.#context(request));
    } finally {
      cut.abort();
    }
  }

  /** In a simulation, requests and watch events come one by one: their order would depend on the machine otherwise. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    if (clock.takesTurns === true) await clock.sleep(0, signal);
  }

  /** The timeout covers the response's head only: a watch can then be silent for a long time. */
  async #openWatch(request: KubeRequest): Promise<IncomingMessage> {
    const report = this.#begin(request);
    const wait = this.#waitFor(request);
    try {
      const exchange = { ...(await this.#exchange(request, report)), isWatch: true };
      const response = await this.#transport.send(exchange, wait.signal);
      if (response.statusCode === 200) {
        report.answered({ status: 200, headers: response.headers, body: undefined });
        wait.headCame();
        response.once("close", () => wait.done());
        return response;
      }
      const answer = { status: response.statusCode ?? 0, headers: response.headers, body: await readBody(response) };
      report.answered(answer);
      throw this.#refusal(answer, request);
    } catch (error) {
      wait.done();
      throw report.failed(wait.explain(error));
    }
  }

  async #exchange(request: KubeRequest, { id, auditId }: RequestIds): Promise<HttpExchange> {
    const headers: AskingHeaders = {
      Accept: "application/json",
      "User-Agent": this.#userAgent,
      "Audit-ID": auditId,
    };
    if (this.#deps.trace.wantsCauses) headers[TRACEPARENT] = formatTraceparent(id);
    await addIdentity(headers, this.config);
    let body: Buffer | undefined;
    if (request.body !== undefined) {
      body = Buffer.from(JSON.stringify(request.body));
      headers["Content-Type"] = request.contentType ?? "application/json";
      headers["Content-Length"] = String(body.length);
    }
    return { method: request.method, path: withQuery(request.path, request.query), headers, body };
  }

  /** Aborts a request on the caller's signal, close() or the timeout; `explain` returns the cause. */
  #waitFor(request: KubeRequest) {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = request;
    const deadlines = this.#deps.clock.isPaused === true ? this.#heldDeadlines : this.#deadlines;
    const controller = new AbortController();
    const link = signal && onAbort(signal, () => controller.abort(signal.reason));
    this.#live.add(controller);
    const limit = {
      deadlineMs: deadlines.clock.now() + timeoutMs,
      giveUp: () => controller.abort(timeoutError(this.#context(request))),
    };
    deadlines.add(limit);
    if (this.#closing.signal.aborted) controller.abort(this.#closing.signal.reason);
    return {
      signal: controller.signal,
      headCame: () => deadlines.remove(limit),
      explain: (error: unknown): unknown =>
        controller.signal.aborted ? controller.signal.reason : explainTransportError(error, this.#context(request)),
      done: () => {
        link?.[Symbol.dispose]();
        this.#live.delete(controller);
        deadlines.remove(limit);
      },
    };
  }

  #context(request: KubeRequest) {
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const what = `${request.method} ${request.path}`;
    const viaProxy = this.config.proxyAgent !== undefined;
    const nowMs = this.#deps.clock.now();
    return { server: this.#transport.origin, what, nowMs, timeoutMs, viaProxy, config: this.config };
  }

  /** Starts the report of one request: the first call of `answered` or `failed` emits its fact. */
  #begin(request: KubeRequest) {
    const { trace, clock, random, actor, instance } = this.#deps;
    const startMs = clock.now();
    const id = request.factId ?? trace.newId();
    const auditId = random.uuid();
    trace.secrets.learnBody(request.path, request.body);
    let isReported = false;
    const emit = (rest: Partial<RequestFact>) => {
      if (isReported) return;
      isReported = true;
      this.#observe(request, rest.status, clock.now() - startMs);
      const fact: RequestFact = {
        kind: "request",
        method: request.method,
        path: withQuery(request.path, request.query),
        server: this.#transport.origin,
        identity: this.#identity,
        durationMs: clock.now() - startMs,
        auditId,
        ...(trace.wantsBodies && request.body !== undefined
          ? { requestBody: redactBody(request.body, request.path) }
          : {}),
        ...rest,
      };
      trace.emit(fact, { actor, id, ...defined({ instance }) });
    };
    return {
      id,
      auditId,
      answered: (answer: KubeResponse): void => {
        trace.secrets.learnBody(request.path, answer.body);
        if (this.#deps.warn !== undefined) warningsIn(answer.headers["warning"]).forEach(this.#deps.warn);
        const outcome = outcomeInWords(answer);
        const wantsBody = trace.wantsBodies && answer.body !== undefined;
        const version = writtenVersion(request.method, answer.body);
        emit({
          status: answer.status,
          ...(outcome === undefined ? {} : { outcome }),
          ...(version === undefined ? {} : { version }),
          ...(wantsBody ? { responseBody: redactBody(answer.body, request.path) } : {}),
        });
      },
      failed: (error: unknown): unknown => {
        emit({ failure: isAbortError(error) ? "cancelled" : messageOf(error) });
        return error;
      },
    };
  }

  #observe({ method, query }: KubeRequest, status: number | undefined, durationMs: number): void {
    const { host } = this.#transport;
    this.#deps.observe?.({ method, host, status, durationMs: query?.["watch"] === true ? undefined : durationMs });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const controller of [...this.#live]) controller.abort(this.#closing.signal.reason);
    this.#transport.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * An incomplete line means that the connection ended in the middle of it.
 * @throws LabError REFUSED for a line that is not an event
 */
function parseEvent(line: string): unknown {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch (cause) {
    throw Object.assign(new Error("the watch broke off inside an event", { cause }), { code: "ECONNRESET" });
  }
  const object = isRecord(event) ? event["object"] : undefined;
  if (isRecord(event) && isRecord(object) && (event["type"] === "ERROR" || isRecord(object["metadata"]))) return event;
  throw new LabError("REFUSED", "the watch sent something that is not an event", NOT_AN_API_SERVER);
}

/** `NotFound: leases "n1" not found`, or the length of a list; undefined for an object. */
function outcomeInWords(answer: KubeResponse): string | undefined {
  if (answer.body === undefined) return "watching";
  if (!isSuccess(answer)) {
    const reason = statusReason(answer);
    const message = statusMessage(answer);
    return reason === undefined || reason === message ? message : `${reason}: ${message}`;
  }
  const body = answer.body as { kind?: unknown; items?: unknown } | null;
  if (typeof body !== "object" || body === null || isStatus(body)) return undefined;
  return Array.isArray(body.items) ? counted(body.items.length, "item") : undefined;
}

/**
 * The version that a write made. The response to a DELETE has a new version only if the object was marked and stays: an object that
 * is gone is returned as it was before.
 */
function writtenVersion(method: string, body: unknown): string | undefined {
  if (method === "GET") return undefined;
  const isMarked = () => (body as Partial<KubeObject> | null)?.metadata?.deletionTimestamp !== undefined;
  return method !== "DELETE" || isMarked() ? versionOf(body) : undefined;
}
