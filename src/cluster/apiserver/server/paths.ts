/** Non-resource paths: discovery, health, version, OpenAPI, metrics, the issuer's documents. */
import { methodNotAllowed, resourceNotServed } from "../../../staging/apimachinery/errors.js";
import type { AggregatedDiscovery } from "../endpoints/discovery/aggregated-discovery.js";
import type { Discovery } from "../endpoints/discovery/discovery.js";
import type { Exchange } from "../endpoints/exchange.js";
import { JSON_TYPE, negotiate, OBJECT_TYPES, requireAcceptable } from "../endpoints/media-types.js";
import { commonHeaders, writeBody, writePageNotFound, writeValue } from "../endpoints/responsewriters/answer.js";
import type { Routes } from "../endpoints/routes.js";
import type { Health } from "./health.js";
import type { OpenApi } from "./openapi.js";

export interface PathDeps {
  readonly routes: Routes;
  readonly discovery: Discovery;
  readonly aggregated: AggregatedDiscovery;
  readonly health: Health;
  readonly openApi: OpenApi;
  readonly version: unknown;
  metrics(): Promise<string>;
  /** public keys that verify service account tokens; absent: not served */
  readonly issuer?: { openIdConfiguration(serverUrl: string): Promise<unknown>; jwks(): Promise<unknown> };
}

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
const METRICS = { file: "staging/src/k8s.io/apiserver/pkg/server/routes/metrics.go", func: "DefaultMetrics.Install" };
const OPENID = "pkg/routes/openidmetadata.go";

/** Handles a request for a path that names no resource. */
export async function answerPath(deps: PathDeps, exchange: Exchange): Promise<void> {
  const { path } = exchange.info;
  if (await deps.health.answer(exchange)) return;
  switch (withoutSlash(path)) {
    case "":
      return writeValue(exchange, 200, { paths: rootPaths(deps) }, { pretty: true });
    case "/version":
      return version(deps, exchange);
    case "/api":
      requireGet(exchange);
      if (await aggregated(deps, exchange, true)) return;
      return discovery(exchange, deps.discovery.apiVersions(exchange.request.headers.host ?? ""), true);
    case "/apis":
      if (await aggregated(deps, exchange, false)) return;
      return discovery(exchange, deps.discovery.groupList(), false);
    case "/metrics":
      return writeBody(exchange, 200, await deps.metrics(), METRICS_TYPE, { writer: METRICS });
    case "/.well-known/openid-configuration":
      return issuer(deps, exchange);
    case "/openid/v1/jwks":
      return keys(deps, exchange);
    default:
      if (await deps.openApi.answer(exchange)) return;
      return lists(deps, exchange);
  }
}

async function lists(deps: PathDeps, exchange: Exchange): Promise<void> {
  const { path } = exchange.info;
  const [prefix, ...rest] = withoutSlash(path).slice(1).split("/");
  if (prefix === "apis" && rest.length === 1) {
    const group = deps.discovery.group(rest[0] ?? "");
    if (group !== undefined) return discovery(exchange, group, false);
  }
  const [group, version] = prefix === "api" ? ["", rest[0]] : [rest[0], rest[1]];
  if ((prefix === "api" && rest.length === 1) || (prefix === "apis" && rest.length === 2)) {
    const list = deps.discovery.resourceList(group ?? "", version ?? "");
    if (list !== undefined) {
      requireGet(exchange);
      return discovery(exchange, list, true);
    }
  }
  return notFound(deps, exchange);
}

/** Status below served groups, text elsewhere. Mirrors k8s.io/apiserver/pkg/server/handler.go (director.ServeHTTP). */
export async function notFound(deps: Pick<PathDeps, "routes">, exchange: Exchange): Promise<void> {
  if (deps.routes.isServed(exchange.info.path)) throw resourceNotServed();
  await writePageNotFound(exchange);
}

/** @param isRestful some paths belong to go-restful, whose text for a refused Accept header differs from the handler's */
async function discovery(exchange: Exchange, value: unknown, isRestful: boolean): Promise<void> {
  if (isRestful) requireAcceptable(exchange.accept, OBJECT_TYPES);
  const { mediaType, as } = negotiate(plainOnly(exchange.accept), "object");
  if (as !== "") throw resourceNotServed();
  await writeValue(exchange, 200, value, { mediaType });
}

/** @returns whether the client asked for aggregated discovery and got it */
async function aggregated(deps: PathDeps, exchange: Exchange, core: boolean): Promise<boolean> {
  const list = deps.aggregated.list(exchange.accept, core);
  if (list === undefined) return false;
  exchange.vary = ["Accept"];
  exchange.cacheControl = "public";
  const headers = ["Etag", list.etag];
  if (exchange.request.headers["if-none-match"] === list.etag) {
    exchange.response.writeHead(304, [...commonHeaders(exchange), ...headers]);
    exchange.response.end();
  } else await writeBody(exchange, 200, list.text, list.contentType, { headers });
  return true;
}

/** Resource lists have no table form, so clauses that ask for another form are ignored. */
function plainOnly(accept: string | undefined): string | undefined {
  if (accept === undefined || !accept.includes("as=")) return accept;
  const plain = accept.split(",").filter((clause) => !/;\s*as=/.test(clause));
  return plain.length === 0 ? "none/none" : plain.join(",");
}

/** Indented for every client, like upstream. */
async function version(deps: PathDeps, exchange: Exchange): Promise<void> {
  requireGet(exchange);
  requireAcceptable(exchange.accept, [JSON_TYPE]);
  await writeValue(exchange, 200, deps.version, { pretty: true });
}

async function issuer(deps: PathDeps, exchange: Exchange): Promise<void> {
  if (deps.issuer === undefined) return writePageNotFound(exchange);
  requireGet(exchange);
  const serverUrl = `https://${exchange.request.headers.host ?? ""}`;
  const configuration = JSON.stringify(await deps.issuer.openIdConfiguration(serverUrl));
  await writePublic(exchange, configuration, JSON_TYPE, "serveConfiguration");
}

async function keys(deps: PathDeps, exchange: Exchange): Promise<void> {
  if (deps.issuer === undefined) return writePageNotFound(exchange);
  requireGet(exchange);
  await writePublic(exchange, JSON.stringify(await deps.issuer.jwks()), "application/jwk-set+json", "serveKeys");
}

/** Only these responses are cacheable: relying parties fetch them often. */
function writePublic(exchange: Exchange, body: string, contentType: string, func: string): Promise<void> {
  exchange.cacheControl = "public, max-age=3600";
  return writeBody(exchange, 200, body, contentType, { writer: { file: OPENID, func } });
}

function requireGet(exchange: Exchange): void {
  if (exchange.method !== "GET") throw methodNotAllowed();
}

function withoutSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}

function rootPaths(deps: PathDeps): string[] {
  const paths = ["/api", "/apis", "/apis/", "/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"];
  if (deps.issuer !== undefined) paths.push("/.well-known/openid-configuration", "/openid/v1/jwks");
  for (const { group, version } of deps.routes.all()) {
    paths.push(group === "" ? `/api/${version}` : `/apis/${group}/${version}`);
  }
  for (const group of deps.routes.groups.keys()) paths.push(`/apis/${group}`);
  return [...paths, ...deps.health.paths()].sort();
}
