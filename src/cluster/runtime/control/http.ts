import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { RpcError } from "../../../staging/cri/grpc/status.js";
import type { Trace } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import { LabError } from "../../../util/errors.js";
import type { GrpcCode } from "../../../util/net/grpc-codes.js";
import { listenProblem } from "../../../util/net/listen-problem.js";
import { checkOrigin } from "../../../util/net/origin-check.js";
import { requestUrl } from "../../../util/net/request-url.js";
import { nearest } from "../../../util/text/nearest.js";
import { BadRequest, shown, suggestion } from "./bad-request.js";
import type { RemoteControl } from "./control.js";
import type { Route } from "./route.js";

/** The HTTP server of a runtime's control API. */
export interface ControlServer extends AsyncDisposable {
  /** `http://127.0.0.1:4002` */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves the control API on a loopback address; `GET /` lists the routes.
 * Fields come as a JSON object or in the query: `curl -X POST localhost:4002/containers/4f0c/kill?oom=true`.
 * @throws LabError USAGE if the address is not a loopback address, or the server cannot listen there
 */
export async function serveControl(control: RemoteControl, address: string, trace: Trace): Promise<ControlServer> {
  const { host, port } = parseAddress(address);
  const closing = new AbortController();
  let ownPort = port;
  const server = createServer((request, response) => {
    // Its client reports no facts.
    const handle = () => answer(control, request, response, ownPort, closing.signal);
    trace.origin("client", handle).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const hint = "Name another port, or 0 for a free one: --control 127.0.0.1:0";
      reject(
        new LabError("USAGE", `cannot serve the control API at ${address}: ${listenProblem(cause)}`, hint, { cause }),
      );
    });
    server.listen(port, host, resolve);
  });
  ownPort = (server.address() as AddressInfo).port;
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= new Promise<void>((resolve) => {
      closing.abort();
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closed;
  };
  const shown = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${shown}:${ownPort}`, close, [Symbol.asyncDispose]: close };
}

function parseAddress(address: string): { readonly host: string; readonly port: number } {
  const match = /^(?:(\[::1\]|localhost|127(?:\.\d{1,3}){3}):)?(\d{1,5})$/.exec(address);
  const port = Number(match?.[2]);
  if (match !== null && port <= 65_535) return { host: (match[1] ?? "127.0.0.1").replace(/^\[|\]$/g, ""), port };
  throw new LabError(
    "USAGE",
    `"${address}" is not a loopback address; the control API has no authentication`,
    "Write it as 127.0.0.1:PORT.",
  );
}

async function answer(
  control: RemoteControl,
  request: IncomingMessage,
  response: ServerResponse,
  ownPort: number,
  closing: AbortSignal,
): Promise<void> {
  if (checkOrigin(request, ownPort) !== undefined) {
    return json(response, 403, { error: "only programs on this machine are allowed" });
  }
  try {
    const url = requestUrl(request.url);
    if (url === undefined) throw new BadRequest(`${shown(request.url)} is not a path`);
    // Loaded with the first request, because zod takes a tenth of a second.
    const [{ ROUTES }, { givenFields }] = await Promise.all([import("./routes.js"), import("./request.js")]);
    const route = routeFor(ROUTES, request.method ?? "", url.pathname, response);
    const given = await givenFields(request, url.searchParams, route.fields);
    const argument = argumentOf(route, url.pathname);
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, closing]);
    const found = await route.run({ control, argument, signal }, given);
    if (isStream(found)) await sendLines(response, request.method === "HEAD" ? [] : found);
    else json(response, 200, found ?? { done: true });
  } catch (error) {
    await refuse(control, request, response, error);
  }
}

/** @throws BadRequest 404, or 405 with an `Allow` header in the response */
function routeFor(routes: readonly Route[], method: string, path: string, response: ServerResponse): Route {
  const here = routes.filter(({ pattern }) => pattern.test(path));
  // Node leaves out the body of an answer to HEAD.
  const found = here.find((route) => route.method === (method === "HEAD" ? "GET" : method));
  if (found !== undefined) return found;
  if (here.length > 0) {
    const methods = here.map((route) => route.method).join(", ");
    response.setHeader("allow", methods);
    throw new BadRequest(`${path} does not support ${method}: expected ${methods}`, undefined, 405);
  }
  const like = suggestion(nearest([...new Set(routes.map((route) => route.path))], path));
  throw new BadRequest(`there is nothing at ${shown(path)}: ${like}GET / lists all routes`, undefined, 404);
}

function argumentOf({ pattern }: Route, path: string): string {
  const written = pattern.exec(path)?.[1] ?? "";
  try {
    return decodeURIComponent(written);
  } catch {
    throw new BadRequest(`${shown(written)} in the path is not percent-encoded UTF-8`);
  }
}

async function refuse(
  control: RemoteControl,
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
): Promise<void> {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // The rest of the body must not be read as the next request.
  if (!request.complete) {
    response.setHeader("connection", "close");
    request.resume();
  }
  if (error instanceof BadRequest) {
    const { message, field, status } = error;
    json(response, status, { error: message, ...defined({ field }) });
  } else if (error instanceof RpcError) {
    const { code, message } = error;
    const known = code === "NotFound" ? `; ${await whatThereIs(control)}` : "";
    json(response, STATUS_OF[code] ?? 409, { error: `${message}${known}`, code });
  } else if (error instanceof LabError) json(response, 400, { error: error.message });
  else json(response, 500, { error: `a bug in kubelab: ${error instanceof Error ? error.stack : String(error)}` });
}

/** All other refusals are about the current state: 409. */
const STATUS_OF: Partial<Record<GrpcCode, number>> = { NotFound: 404, InvalidArgument: 400 };
const MAX_KNOWN = 20;
const ID_LENGTH = 13;

/** `there are sandboxes 5a1d (default/web) and containers c0de (default/web main)` */
async function whatThereIs(control: RemoteControl): Promise<string> {
  const { sandboxes } = await control.snapshot();
  if (sandboxes.length === 0) return "there are no sandboxes and no containers";
  const listed = (what: string, names: readonly string[]) => {
    if (names.length === 0) return `no ${what}`;
    const more = names.length > MAX_KNOWN ? ` and ${names.length - MAX_KNOWN} more` : "";
    return `${what} ${names.slice(0, MAX_KNOWN).join(", ")}${more}`;
  };
  const pods = sandboxes.map((one) => ({ ...one, pod: `${one.namespace}/${one.name}` }));
  const homes = pods.map(({ sandboxId, pod }) => `${sandboxId.slice(0, ID_LENGTH)} (${pod})`);
  const own = pods.flatMap(({ containers, pod }) =>
    containers.map(({ containerId, name }) => `${containerId.slice(0, ID_LENGTH)} (${pod} ${name})`),
  );
  return `there are ${listed("sandboxes", homes)} and ${listed("containers", own)}`;
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(value, null, 2)}\n`);
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

async function sendLines(response: ServerResponse, items: AsyncIterable<unknown> | readonly []): Promise<void> {
  response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" });
  response.flushHeaders();
  for await (const item of items) response.write(`${JSON.stringify(item)}\n`);
  response.end();
}
