import type { TraceEvent } from "../../../events.js";
import { say } from "../language.js";
import { type Chapter, funcIn, wayOf } from "./chapter.js";

/** The hops that have happened, in the words of `ROWS`. */
interface Hops {
  /** of the client's request */
  readonly auditId: string;
  readonly urls: ReadonlyMap<string, string>;
  readonly refused?: string;
}

const ROWS = [
  "client → API server",
  "API server → kubelet",
  "the kubelet serves",
  "kubelet → runtime, by gRPC",
  "kubelet → streaming server of the runtime",
  "the connection carries the streams",
  "the connection has ended",
] as const;
type Hop = (typeof ROWS)[number];

const ASKED = /\/pods\/[^/]+\/(?:exec|attach|portforward|log)(?:\?|$)/;
const STREAMS = /\/(?:exec|attach|portForward|containerLogs)\//;

/** exec, attach, port-forward and logs: the URL as each hop rewrites it. */
export const hops: Chapter<Hops> = {
  id: "hops",
  title: "Hops",
  commands: ["exec", "attach", "logs", "port-forward"],
  read(model, event) {
    const [hop, url, auditId = model?.auditId] = hopOf(event) ?? [];
    if (hop === undefined || url === undefined || auditId === undefined) return model;
    const urls = model?.auditId === auditId ? model.urls : undefined;
    const refused =
      event.kind === "request" && (event.status ?? 0) >= 400 ? `${event.status} ${event.outcome}` : model?.refused;
    return { auditId, urls: new Map(urls).set(hop, url), ...(refused === undefined ? {} : { refused }) };
  },
  draw(now, ever) {
    const shown = ROWS.filter((hop) => ever.urls.has(hop));
    const way = wayOf(
      shown.map((hop) => ({ title: say(hop), code: ever.urls.get(hop), isReached: now?.urls.has(hop) === true })),
    );
    return now?.refused === undefined ? [way] : [way, { kind: "line", text: now.refused, tone: "bad" }];
  },
};

/** The hop that a fact reports, its address, and the audit ID of the request that it begins with. */
function hopOf(event: TraceEvent): readonly [Hop, url: string | undefined, auditId?: string | undefined] | undefined {
  const inServer = funcIn(event, "pkg/kubelet/server/server.go");
  switch (event.kind) {
    case "request":
      if (event.actor !== "user" || !ASKED.test(event.path)) return undefined;
      return ["client → API server", `${event.method} ${event.path}`, event.auditId];
    case "decision":
      if (funcIn(event, "pod/rest/subresources.go") !== undefined)
        return ["API server → kubelet", /(?:GET|POST) https?:\S+/.exec(event.what)?.[0], event.auditId];
      if (inServer !== "proxyStream") return undefined;
      return ["kubelet → streaming server of the runtime", /https?:\S+/.exec(event.what)?.[0]];
    case "step":
      return inServer === undefined ? undefined : ["the kubelet serves", /(?:GET|POST) \S+/.exec(event.title)?.[0]];
    case "rpc":
      if (!/^(?:Exec|Attach|PortForward)$/.test(event.method)) return undefined;
      return ["kubelet → runtime, by gRPC", `${event.service}/${event.method} → ${event.code ?? ""}`];
    case "state":
      if (event.actor !== "kubelet" || !STREAMS.test(event.subject)) return undefined;
      return [
        /SPDY|WebSocket|channel/.test(event.to) ? "the connection carries the streams" : "the connection has ended",
        event.to,
      ];
    default:
      return undefined;
  }
}
