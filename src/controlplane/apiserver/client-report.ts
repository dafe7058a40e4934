import type { Actor } from "../../trace/events.js";
import type { Trace } from "../../trace/trace.js";
import { parseTraceparent, TRACEPARENT } from "../../trace/traceparent.js";
import type { Exchange } from "./exchange.js";

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
export async function handleWithCause(trace: Trace, exchange: Exchange, handle: () => Promise<void>): Promise<void> {
  if (!trace.wantsCauses) return await handle();
  const given = parseTraceparent(exchange.request.headers[TRACEPARENT]);
  const id = given ?? trace.newId();
  const startMs = exchange.clock.now();
  await trace.because({ causedBy: id }, handle);
  if (given !== undefined) return;
  const { request, response, user, method, auditId } = exchange;
  const agent = request.headers["user-agent"] ?? "a client";
  const server = `https://${request.headers.host ?? ""}`;
  const durationMs = exchange.clock.now() - startMs;
  trace.origin("client", () => {
    trace.emit(
      {
        kind: "request",
        method,
        path: request.url ?? "",
        server,
        identity: `${user?.username ?? "nobody"} (${agent})`,
        status: response.statusCode,
        durationMs,
        auditId,
      },
      { actor: actorOf(user?.username), level: 3, id },
    );
  });
}

function actorOf(username = ""): Actor {
  return PARTS.find(([pattern]) => pattern.test(username))?.[1] ?? "user";
}
