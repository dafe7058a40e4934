import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";

/** Headers that the API server evaluates and does not forward. Mirrors WithAuthentication and WithImpersonation. */
const OURS = /^(authorization|host|impersonate-.*)$/i;
/** Headers that concern a single connection. Mirrors hopHeaders of net/http/httputil. */
const HOP_BY_HOP = new Set([
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

type Forwarded = Pick<IncomingMessage, "rawHeaders"> & {
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/** All headers of a request for an exec stream, with the client's address. Mirrors AppendForwardedForHeader. */
export function streamHeaders(request: Forwarded): Record<string, string | string[]> {
  return withForwardedFor(
    collect(request.rawHeaders, () => true),
    request,
  );
}

/** The same without the headers that the API server evaluates. Mirrors AppendForwardedForHeader in util/net/http.go. */
export function upgradeHeaders(request: Forwarded): OutgoingHttpHeaders {
  return withForwardedFor(
    collect(request.rawHeaders, (name) => !OURS.test(name)),
    request,
  );
}

/** The headers of a plain request that a reverse proxy forwards. Mirrors net/http/httputil's ReverseProxy. */
export function forwardedHeaders(request: Forwarded): OutgoingHttpHeaders {
  const isForwarded = (name: string) => !OURS.test(name) && !HOP_BY_HOP.has(name.toLowerCase());
  return withForwardedFor(collect(request.rawHeaders, isForwarded), request);
}

/** Mirrors removeCORSHeaders in k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go. */
const CORS = /^access-control-allow-(credentials|headers|methods|origin)$/i;

/** The headers of a response that a reverse proxy forwards: names and values in turn. The proxy itself handles CORS. */
export function answerHeaders(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (HOP_BY_HOP.has(name.toLowerCase()) || CORS.test(name)) continue;
    kept.push(name, rawHeaders[i + 1] ?? "");
  }
  return kept;
}

function collect(rawHeaders: readonly string[], isKept: (name: string) => boolean): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i] ?? "";
    if (!isKept(sent)) continue;
    const name = canonicalName(sent);
    const before = headers[name];
    const value = rawHeaders[i + 1] ?? "";
    headers[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
  }
  return headers;
}

function withForwardedFor(
  headers: Record<string, string | string[]>,
  { socket }: Forwarded,
): Record<string, string | string[]> {
  const { remoteAddress } = socket;
  if (remoteAddress === undefined) return headers;
  const before = headers["X-Forwarded-For"];
  // Go reports the IPv4 address of a client on a dual-stack socket.
  const client = remoteAddress.replace(/^::ffff:/, "");
  const list = before === undefined ? [client] : [...(Array.isArray(before) ? before : [before]), client];
  return { ...headers, "X-Forwarded-For": list.join(", ") };
}

/** The spelling that nearly all Go and Node clients use. */
const CANONICAL = /^[A-Z][a-z\d]*(-[A-Z\d][a-z\d]*)*$/;

/** `sec-websocket-key` as Go writes it: `Sec-Websocket-Key`. Mirrors net/textproto's CanonicalMIMEHeaderKey. */
function canonicalName(name: string): string {
  if (CANONICAL.test(name)) return name;
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
