import type { IncomingMessage, ServerResponse } from "node:http";
import type { Level } from "../../trace/trace.js";
import { parseTraceparent, TRACEPARENT } from "../../trace/traceparent.js";
import { onAbort } from "../../util/async/abort.js";
import { httpError, writeText } from "./answers.js";
import type { Call, HandlerDeps } from "./call.js";
import { serveContainerLogs } from "./handlers/container-logs.js";
import { serveHealthz } from "./handlers/healthz.js";
import { RequestMetrics, serveMetrics, serveResourceMetrics } from "./handlers/metrics.js";
import { serveConfigz, serveDisabled, servePods, serveRunningPods, serveStats } from "./handlers/reads.js";
import { serveAttach, serveExec, servePortForward, serveRun } from "./handlers/streams.js";
import { serveLogs } from "./handlers/system-logs.js";
import type { KubeletAuth } from "./kubelet-auth.js";
import { matchRoute, type RouteMatch, type RouteName, type ServerSurface } from "./routes.js";
import { ServerObserver } from "./server-observer.js";

/** Requests that a user makes on purpose get their own trace step; probes and the like do not. */
const STEPS: Readonly<Partial<Record<RouteName, string>>> = {
  exec: "getExec",
  attach: "getAttach",
  portForward: "getPortForward",
  run: "getRun",
  containerLogs: "getContainerLogs",
};
const QUIET_LEVEL: Level = 3;

/** Created once, because an error collects its stack, which is expensive, and each stream that ends needs one. */
const GONE = new Error("the client is gone, or the kubelet's server closes");

type FoundRoute = Extract<RouteMatch, { readonly kind: "found" }>;

/**
 * Handles a request from its head to its response: path, identity, rights, handler.
 *
 * Mirrors pkg/kubelet/server/server.go (ServeHTTP).
 */
export class RequestHandler {
  readonly #observer: ServerObserver;
  readonly #metrics: RequestMetrics;

  /** @param closing aborts when the server closes */
  constructor(
    readonly deps: HandlerDeps & { readonly auth?: KubeletAuth; readonly surface?: ServerSurface },
    readonly closing: AbortSignal,
  ) {
    const { host, clock, auth, trace } = deps;
    this.#observer = new ServerObserver(trace);
    this.#metrics = new RequestMetrics({ metrics: host.metrics, clock }, auth === undefined ? "readonly" : "readwrite");
  }

  /** Never rejects. @param head the bytes after the head of an upgrade request */
  async handle(request: IncomingMessage, response: ServerResponse, head: Buffer): Promise<void> {
    const target = parseTarget(request.url ?? "/");
    if (target === undefined) return writeText(response, 400, "400 Bad Request");
    const { path, query } = target;
    const over = this.#metrics.begin(request.method ?? "", path);
    const abort = new AbortController();
    const end = () => abort.abort(GONE);
    request.socket.once("close", end);
    response.once("close", end);
    using _ = onAbort(this.closing, end);
    const { method = "" } = request;
    const call: Call = { request, response, head, method, path, query, params: {}, signal: abort.signal };
    try {
      await this.#withCause(call, () => this.#answer(call));
    } catch (error) {
      this.#failed(call, error);
    } finally {
      request.socket.off("close", end);
      response.off("close", end);
      over();
      // Discards an unread body, so that the connection can be reused.
      request.resume();
    }
  }

  /** The API server's proxy sends the fact that caused the request; other clients begin a chain. */
  #withCause<T>({ request }: Call, answer: () => T): T {
    const { trace } = this.deps;
    if (!trace.wantsCauses) return answer();
    const causedBy = parseTraceparent(request.headers[TRACEPARENT]);
    return causedBy === undefined ? trace.origin("client", answer) : trace.because({ causedBy }, answer);
  }

  async #answer(call: Call): Promise<void> {
    const route = matchRoute(call.method, call.path, this.deps.surface);
    if (/^\/spec(\/|$)/.test(call.path)) this.#observer.specIsGone();
    if (route.kind === "not-served") return httpError(call.response, 404, "404 page not found");
    if (route.kind === "moved") return redirect(call, route.path);
    const func = route.kind === "found" ? STEPS[route.name] : undefined;
    if (func === undefined) return this.#serve(call, route, QUIET_LEVEL);
    return this.#observer.serving(call, func, () => this.#serve(call, route, 1));
  }

  async #serve(call: Call, route: RouteMatch, level: Level): Promise<void> {
    const { response } = call;
    const admission = await this.deps.auth?.admit(call.request, call.path, level);
    if (admission?.outcome === "refused") return writeText(response, admission.status, admission.text);
    if (route.kind === "wrong-method") {
      response.setHeader("Allow", route.allow.join(", "));
      return writeText(response, 405, "405: Method Not Allowed");
    }
    if (route.kind !== "found") return writeText(response, 404, "404: Page Not Found");
    return this.#dispatch({ ...call, params: route.params }, route.name);
  }

  async #dispatch(call: Call, name: FoundRoute["name"]): Promise<void> {
    const { deps } = this;
    switch (name) {
      case "healthz":
        return serveHealthz(deps, call);
      case "metrics":
        return serveMetrics(deps, call);
      case "resourceMetrics":
        return serveResourceMetrics(deps, call);
      case "configz":
        return serveConfigz(deps, call);
      case "disabled":
        return serveDisabled(call);
      case "debuggingDisabled":
        return httpError(call.response, 405, "Debug endpoints are disabled.");
      case "logs":
        return serveLogs(deps, call);
      case "pods":
        return servePods(deps, call);
      case "runningpods":
        return serveRunningPods(deps, call);
      case "stats":
        return serveStats(deps, call);
      case "run":
        return serveRun(deps, call);
      case "exec":
        return serveExec(deps, call);
      case "attach":
        return serveAttach(deps, call);
      case "portForward":
        return servePortForward(deps, call);
      case "containerLogs":
        return serveContainerLogs(deps, call);
    }
  }

  /** An error that reaches this point is a bug of ours; Go's server would break the connection off as well. */
  #failed(call: Call, error: unknown): void {
    if (call.signal.aborted) {
      call.response.destroy();
      return;
    }
    this.#observer.failed(call, error);
    if (call.response.headersSent) call.response.destroy();
    else httpError(call.response, 500, "Internal Server Error");
  }
}

function parseTarget(target: string): { readonly path: string; readonly query: URLSearchParams } | undefined {
  const cut = target.indexOf("?");
  const path = cut < 0 ? target : target.slice(0, cut);
  if (!path.startsWith("/")) return undefined;
  try {
    return { path: decodeURIComponent(path), query: new URLSearchParams(cut < 0 ? "" : target.slice(cut + 1)) };
  } catch {
    // A percent sign without two hexadecimal digits.
    return undefined;
  }
}

/** Mirrors Redirect of Go's net/http. */
function redirect({ request, response }: Call, path: string): void {
  const url = request.url ?? "";
  const query = url.includes("?") ? url.slice(url.indexOf("?")) : "";
  response.setHeader("Location", encodeURI(path) + query);
  writeText(response, 301, "");
}
