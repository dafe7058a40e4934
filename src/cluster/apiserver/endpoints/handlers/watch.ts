import type { KubeObject, WatchEvent } from "../../../../staging/apimachinery/api/meta.js";
import { isWebSocketRequest } from "../../../../staging/streaming/websocket/subprotocols.js";
import type { Clock } from "../../../../util/clock.js";
import type { Exchange } from "../exchange.js";
import { negotiate, type Representation } from "../media-types.js";
import { watchOptions } from "../options.js";
import { asStatusError, commonHeaders } from "../responsewriters/answer.js";
import { drained } from "../responsewriters/drained.js";
import { includeObjectOf, partialOf, tableOf } from "../responsewriters/table.js";
import type { Target } from "../routes.js";
import type { HandlerDeps } from "./deps.js";

/**
 * Streams changes, one JSON object per line, until the client disconnects, the watch times out or the server closes.
 * A client that reads too slowly fills the store's queue for this watch, which ends the watch.
 *
 * Mirrors k8s.io/apiserver/pkg/endpoints/handlers/watch.go (serveWatch, WatchServer.ServeHTTP).
 */
export async function watchObjects(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const shown = negotiate(exchange.accept, "watch");
  const options = watchOptions(exchange.query, target.name);
  const timeoutSeconds = options.timeoutSeconds ?? MIN_TIMEOUT_SECONDS * (1 + deps.random.float());
  const encoded = encoder(deps, exchange, target, shown);
  const encode = (event: WatchEvent) => {
    const line = encoded(event);
    deps.dispatches.encoded(event, line);
    return line;
  };
  const signal = exchange.abortSignal(deps.closing);
  // An invalid selector is an ordinary error: the store rejects it before the stream begins.
  const store = deps.registry.store(target.route.qualified);
  const stored = store.watch(target.namespace, { ...options, timeoutSeconds }, signal);
  const events = deps.faults?.watches.meet(exchange, stored, deps.trace) ?? stored;
  const { upgrade } = exchange;
  deps.counters.watchBegan();
  try {
    if (upgrade === undefined || !isWebSocketRequest(exchange.request)) {
      return await sendLines(deps.clock, exchange, events, encode, signal);
    }
    const { sendWatchMessages } = await import("./watch-websocket.js");
    await sendWatchMessages(deps.clock, exchange, upgrade, events, encode);
  } finally {
    deps.counters.watchEnded();
  }
}

async function sendLines(
  clock: Clock,
  exchange: Exchange,
  events: AsyncIterable<WatchEvent>,
  encode: (event: WatchEvent) => Buffer | string,
  signal: AbortSignal,
): Promise<void> {
  const { response } = exchange;
  begin(exchange);
  try {
    for await (const event of events) {
      if (!response.write(encode(event)) && !(await drained(response, clock, signal))) response.destroy();
      if (signal.aborted) break;
    }
  } catch (error) {
    // The status code 200 is already sent, so the stream carries this error (revision too old, reader too slow).
    if (!signal.aborted) response.write(errorLine(error));
  } finally {
    response.end();
  }
}

/** The default timeout of a watch: 30 to 60 minutes. Mirrors minRequestTimeout in .../handlers/get.go (ListResource). */
const MIN_TIMEOUT_SECONDS = 1800;

function begin(exchange: Exchange): void {
  exchange.began(200);
  exchange.response.writeHead(200, [
    ...commonHeaders(exchange),
    "Content-Type",
    "application/json",
    "Transfer-Encoding",
    "chunked",
  ]);
  // Clients wait for the headers before they continue, even if the first event comes much later.
  exchange.response.flushHeaders();
}

function errorLine(error: unknown): string {
  return `${JSON.stringify({ type: "ERROR", object: asStatusError(error).status })}\n`;
}

function encoder(
  deps: HandlerDeps,
  exchange: Exchange,
  target: Target,
  shown: Representation,
): (event: WatchEvent) => Buffer | string {
  const { serializer } = deps.presenter;
  if (shown.as === "") {
    return ({ type, object }) =>
      type === "ERROR" ? `${JSON.stringify({ type, object })}\n` : serializer.event(type, object);
  }
  let isFirst = true;
  const include = includeObjectOf(exchange.query);
  const transform = (object: KubeObject): unknown => {
    if (shown.as !== "Table") return partialOf(object, shown.asVersion);
    const withColumns = isFirst;
    isFirst = false;
    const metadata = { resourceVersion: object.metadata.resourceVersion ?? "" };
    const { asVersion: version } = shown;
    const nowMs = deps.clock.now();
    return tableOf(target.route.definition, metadata, [object], { version, nowMs, include, withColumns });
  };
  return ({ type, object }) => `${JSON.stringify({ type, object: type === "ERROR" ? object : transform(object) })}\n`;
}
