import type { IncomingMessage, ServerResponse } from "node:http";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import type { Trace } from "../../../trace/trace.js";
import type { Random } from "../../../util/random.js";
import { Exchange, type Upgrade } from "../endpoints/exchange.js";
import type { HandlerDeps } from "../endpoints/handlers/deps.js";
import { dispatch } from "../endpoints/handlers/dispatch.js";
import { requestTimeoutMs } from "../endpoints/options.js";
import { requestInfo, splitTarget } from "../endpoints/request-info.js";
import { asStatusError, writeStatus } from "../endpoints/responsewriters/answer.js";
import { stageReporter } from "../registry/rest/stages.js";
import { handleWithCause } from "./client-report.js";
import type { Filters } from "./filters.js";
import { answerPath, notFound, type PathDeps } from "./paths.js";

export interface RequestHandlerDeps extends HandlerDeps, PathDeps {
  readonly filters: Filters;
  readonly onRequest?: (exchange: Exchange) => () => void;
}

const NO_QUERY = new URLSearchParams();

/** Handles a request up to its complete response; never rejects. */
export async function handleRequest(
  deps: RequestHandlerDeps,
  request: IncomingMessage,
  response: ServerResponse,
  upgrade?: Upgrade,
): Promise<void> {
  const target = splitTarget(request.url ?? "/");
  if (target === undefined) return refuse(response);
  const query = target.query === "" ? NO_QUERY : new URLSearchParams(target.query);
  const info = requestInfo(request.method ?? "", target.path, query);
  const auditId = auditIdOf(request, deps.random);
  const exchange = new Exchange(request, response, info, query, auditId, deps.clock, upgrade);
  exchange.report = stageReporter(deps.trace, auditId);
  const answered = deps.onRequest?.(exchange);
  await handleWithCause(deps.trace, exchange, () => handle(deps, exchange));
  answered?.();
}

async function handle(deps: RequestHandlerDeps, exchange: Exchange): Promise<void> {
  const { info, query, response } = exchange;
  deps.counters.begin();
  let resource = "";
  try {
    if (query !== NO_QUERY) exchange.timeoutMs = requestTimeoutMs(info, query);
    await deps.filters.run(exchange);
    await deps.faults?.meet(exchange, deps);
    if (!info.isResourceRequest) await answerPath(deps, exchange);
    else if (!deps.routes.isServed(info.path)) await notFound(deps, exchange);
    else {
      const found = deps.routes.resolve(info, exchange.method);
      resource = found.route.definition.resource;
      await dispatch(deps, exchange, found);
    }
  } catch (error) {
    await answerError(deps, exchange, error);
  } finally {
    // As upstream, 0 for a request without an HTTP response: its client has left, or its connection was hijacked.
    deps.counters.end(info.verb, resource, response.headersSent ? response.statusCode : 0);
  }
}

/** The client's audit ID, cut to 64 characters, or a new one. The trace records it, too. */
function auditIdOf(request: IncomingMessage, random: Random): string {
  const sent = request.headers["audit-id"];
  return typeof sent === "string" && sent !== "" ? sent.slice(0, 64) : random.uuid();
}

async function answerError(deps: RequestHandlerDeps, exchange: Exchange, error: unknown): Promise<void> {
  const { response } = exchange;
  if (response.destroyed) return; // the client has disconnected, so there is no response to write
  const status = asStatusError(error);
  if (!(error instanceof StatusError)) reportBug(deps.trace, exchange, error);
  if (response.headersSent) {
    response.destroy(); // The client sees a broken response instead of one that looks complete.
    return;
  }
  const isForbidden = status.code === 403 && exchange.refusedByFilter;
  await writeStatus(exchange, status.status, isForbidden ? ["X-Content-Type-Options", "nosniff"] : []);
}

function reportBug(trace: Trace, exchange: Exchange, error: unknown): void {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const message = `${exchange.method} ${exchange.info.path}: ${stack}`;
  trace.emit({ kind: "error", message }, { actor: "apiserver", level: 0 });
}

/** Mirrors the response of Go's net/http to a request that it cannot parse. */
function refuse(response: ServerResponse): void {
  response.writeHead(400, ["Content-Type", "text/plain; charset=utf-8", "Connection", "close"]);
  response.end("400 Bad Request");
}
