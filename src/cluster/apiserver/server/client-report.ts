import type { Actor } from "../../../trace/events.js";
import type { Trace } from "../../../trace/trace.js";
import { parseTraceparent, TRACEPARENT } from "../../../trace/traceparent.js";
import { defined } from "../../../util/defined.js";
import type { Exchange } from "../endpoints/exchange.js";
import type { RequestInfo } from "../endpoints/request-info.js";
import { SeenBodies } from "../endpoints/seen-bodies.js";

/** Groups and users of clients that are parts of a cluster; everybody else is a user. */
const PARTS: readonly (readonly [RegExp, Actor])[] = [
  [/^system:node:/, "kubelet"],
  [/^system:kube-scheduler$/, "scheduler"],
  [/^system:(?:kube-controller-manager|serviceaccount:kube-system:.*-controller)$/, "controller"],
  [/^system:apiserver$/, "apiserver"],
];

/**
 * Runs the handling of a request with the client's fact as its cause. A client that reports no facts, such as kubectl, gets one
 * here: what the server saw of its request.
 */
export function handleWithCause(trace: Trace, exchange: Exchange, handle: () => Promise<void>): Promise<void> {
  return trace.wantsCauses ? handleAndReport(trace, exchange, handle) : handle();
}

async function handleAndReport(trace: Trace, exchange: Exchange, handle: () => Promise<void>): Promise<void> {
  const given = parseTraceparent(exchange.request.headers[TRACEPARENT]);
  if (given !== undefined) return await trace.because({ causedBy: given }, handle);
  const id = trace.newId();
  const startMs = exchange.clock.now();
  // Discovery and the like say nothing about the cluster's state.
  if (trace.wantsBodies && exchange.info.isResourceRequest) exchange.bodies = new SeenBodies();
  let isReported = false;
  // Streams are reported when they begin, because they can last as long as their client.
  exchange.began = (status) => {
    if (!isReported) reportRequest(trace, exchange, { id, startMs, status });
    isReported = true;
  };
  await trace.because({ causedBy: id }, handle);
  exchange.began(exchange.response.statusCode);
}

function reportRequest(
  trace: Trace,
  { request, info, user, method, auditId, clock, bodies }: Exchange,
  { id, startMs, status }: { readonly id: string; readonly startMs: number; readonly status: number },
): void {
  const agent = request.headers["user-agent"] ?? "a client";
  const server = `https://${request.headers.host ?? ""}`;
  const durationMs = clock.now() - startMs;
  const actor = actorOf(user?.username);
  const instance = actor === "kubelet" ? user?.username.replace(/^system:node:/, "") : undefined;
  const seen = bodies?.masked(trace, canonicalPath(info));
  trace.origin("client", () => {
    trace.emit(
      {
        kind: "request",
        method,
        path: request.url ?? "",
        server,
        identity: `${user?.username ?? "nobody"} (${agent})`,
        status,
        durationMs,
        auditId,
        ...seen,
      },
      { actor, level: 3, id, ...defined({ instance }) },
    );
  });
}

/** The normalized path, which determines the secret fields of a body. */
function canonicalPath({ apiPrefix, apiGroup, apiVersion, inNamespace, namespace, parts }: RequestInfo): string {
  const words = [apiPrefix, apiGroup, apiVersion, ...(inNamespace ? ["namespaces", namespace] : []), ...parts];
  return `/${words.filter((word) => word !== "").join("/")}`;
}

function actorOf(username = ""): Actor {
  return PARTS.find(([pattern]) => pattern.test(username))?.[1] ?? "user";
}
