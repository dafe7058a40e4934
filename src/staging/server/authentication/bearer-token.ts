import type { IncomingMessage } from "node:http";

/** Browsers cannot set headers, so they send the token in this subprotocol. */
const WEBSOCKET_BEARER = "base64url.bearer.authorization.k8s.io.";

/**
 * The token of an Authorization header.
 * Mirrors k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go (AuthenticateRequest).
 * @returns undefined for another scheme, and for `Bearer` without a token
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  const [scheme, token] = (authorization ?? "").trim().split(" ", 3);
  if (scheme?.toLowerCase() !== "bearer" || token === undefined || token === "") return undefined;
  return token;
}

/** The token among a WebSocket's subprotocols. Mirrors k8s.io/apiserver/pkg/authentication/request/websocket/protocol.go. */
export function websocketToken({ headers }: IncomingMessage): string | undefined {
  if (headers.upgrade?.toLowerCase() !== "websocket") return undefined;
  const found = protocolsOf(headers["sec-websocket-protocol"] ?? "").find((one) => one.startsWith(WEBSOCKET_BEARER));
  const token = Buffer.from(found?.slice(WEBSOCKET_BEARER.length) ?? "", "base64url").toString("utf8");
  return token === "" ? undefined : token;
}

/** Removes the token from the forwarded headers. `rawHeaders` alternates names and values. */
export function removeToken(request: IncomingMessage): void {
  const kept: string[] = [];
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i] ?? "";
    const value = request.rawHeaders[i + 1] ?? "";
    if (name.toLowerCase() === "authorization") continue;
    kept.push(name, name.toLowerCase() === "sec-websocket-protocol" ? withoutTokens(value) : value);
  }
  request.rawHeaders = kept;
}

function withoutTokens(protocols: string): string {
  return protocolsOf(protocols)
    .filter((protocol) => !protocol.startsWith(WEBSOCKET_BEARER))
    .join(", ");
}

function protocolsOf(header: string): string[] {
  return header.split(",").map((protocol) => protocol.trim());
}
