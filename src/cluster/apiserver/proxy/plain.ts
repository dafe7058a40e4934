import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import { statusError } from "../../../staging/apimachinery/errors.js";
import { type BackendAnswer, BackendUnreachable } from "../../../staging/server/proxy/backend.js";
import { answerHeaders, forwardedHeaders } from "../../../staging/server/proxy/forward-headers.js";
import type { Exchange } from "../endpoints/exchange.js";
import { hasBody } from "../endpoints/read-body.js";
import { commonHeaders } from "../endpoints/responsewriters/answer.js";
import type { ProxyDeps } from "./deps.js";
import { reportAsked } from "./report.js";
import { LinkRewriter, type PageSource, rewriteUrl } from "./rewrite-links.js";
import { askTarget, type UpgradeTarget } from "./upgrade.js";

/**
 * Proxies a request to a kubelet, or through it to a pod, and returns the response.
 *
 * Mirrors net/http/httputil's ReverseProxy as k8s.io/apimachinery/pkg/util/proxy/{upgradeaware,transport}.go set it up.
 * Differs: links in compressed HTML pages are not rewritten.
 *
 * @throws StatusError 503 when the kubelet cannot be reached
 */
export async function proxyPlain(
  deps: ProxyDeps,
  exchange: Exchange,
  target: UpgradeTarget,
  signal: AbortSignal,
): Promise<void> {
  const { request, method } = exchange;
  const { info, path, pod } = target;
  exchange.isBodyRead = true;
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  const headers = {
    ...forwardedHeaders(request),
    "X-Forwarded-Uri": headerValue("X-Forwarded-Uri", exchange.info.path),
    // Node sends the body of a GET, DELETE or OPTIONS without its length if no header announces a body.
    ...(isChunked ? { "Transfer-Encoding": "chunked" } : {}),
  };
  const cause = reportAsked(deps.trace, exchange, info, method, path, pod?.url);
  let answer: BackendAnswer;
  try {
    const asked = { method, path, headers, ...(hasBody(request) ? { body: request } : {}) };
    answer = await deps.trace.because(cause, () => askTarget(deps, target, asked, signal));
  } catch (error) {
    if (!(error instanceof BackendUnreachable)) throw error;
    throw unreachable(error.message);
  }
  if (answer.type === "response") return passOn(exchange, answer.response, sourceOf(exchange, target));
  answer.socket.destroy();
  throw unreachable("the backend upgraded a plain request");
}

/** UTF-8, as Go writes it. @throws StatusError 503 for what no header can have, in the words of Go's net/http */
function headerValue(name: string, text: string): string {
  const isValid = [...text].every((one) => one === "\t" || (one >= " " && one !== "\x7f"));
  if (!isValid) throw unreachable(`net/http: invalid header field value for "${name}"`);
  return Buffer.from(text).toString("latin1");
}

/** Mirrors Transport.RoundTrip in k8s.io/apimachinery/pkg/util/proxy/transport.go. */
export function unreachable(why: string): Error {
  return statusError(503, "ServiceUnavailable", `error trying to reach service: ${why}`);
}

/** Mirrors defaultProxyTransport in upgradeaware.go. */
function sourceOf({ info, request }: Exchange, { info: kubelet, path, pod }: UpgradeTarget): PageSource {
  const [pathname = ""] = path.split("?");
  return {
    host: pod === undefined ? kubelet.address : new URL(pod.url).host,
    requestHost: request.headers.host ?? "",
    pathPrepend: info.path.endsWith(pathname) ? info.path.slice(0, -pathname.length) : info.path,
  };
}

async function passOn(exchange: Exchange, answer: IncomingMessage, source: PageSource): Promise<void> {
  const { response } = exchange;
  const { location, "content-type": type = "", "content-encoding": encoding } = answer.headers;
  const isPage = location === undefined && encoding === undefined && /^\s*text\/html\s*(;|$)/.test(type);
  const headers = answerHeaders(answer.rawHeaders).flatMap((text, at, all) => {
    const name = (at % 2 === 0 ? text : (all[at - 1] ?? "")).toLowerCase();
    if (isPage && name === "content-length") return [];
    return [at % 2 === 1 && name === "location" ? rewriteUrl(text, source) : text];
  });
  exchange.began(answer.statusCode ?? 502);
  response.writeHead(answer.statusCode ?? 502, [...commonHeaders(exchange), ...headers]);
  response.flushHeaders();
  try {
    if (isPage && exchange.method !== "HEAD") await pipeline(answer, new LinkRewriter(source), response);
    else await pipeline(answer, response);
  } catch {
    // One side broke off, and the pipeline closed the other.
  }
}

/** Redirects a proxied path without a leading slash. Mirrors proxyRedirectsforRootPath. */
export function redirectToSlash(exchange: Exchange): void {
  const { response, info, request } = exchange;
  const question = (request.url ?? "").indexOf("?");
  const query = question < 0 ? "" : (request.url ?? "").slice(question);
  response.writeHead(301, [...commonHeaders(exchange), "Location", `${info.path}/${query}`, "Content-Length", "0"]);
  response.end();
}
