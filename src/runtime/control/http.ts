import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type GrpcCode, RpcError } from "../../cri/status.js";
import { LabError } from "../../util/errors.js";
import { nearest } from "../../util/nearest.js";
import { requestUrl } from "../../util/request-url.js";
import { refuseStranger } from "../../util/stranger.js";
import { BadRequest, suggestion } from "./bad-request.js";
import type { RuntimeControl } from "./control.js";
import { shown } from "./fields.js";
import { givenFields } from "./request.js";
import type { Route } from "./route.js";
import { ROUTES } from "./routes.js";

/** The control of a runtime, served. */
export interface ControlServer {
  /** `http://127.0.0.1:4002` */
  readonly url: string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Serves the control at a loopback address: what ROUTES says, which GET / lists.
 * Fields come as a JSON object or in the query: `curl -X POST localhost:4002/containers/4f0c/kill?oom=true`.
 * @throws LabError USAGE for an address that others could reach, or where it cannot listen
 */
export async function serveControl(control: RuntimeControl, address: string): Promise<ControlServer> {
  const { host, port } = parseAddress(address);
  const closing = new AbortController();
  let ownPort = port;
  const server = createServer((request, response) => {
    answer(control, request, response, ownPort, closing.signal).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "the port is taken" : cause.message;
      const hint = "Name another port, or 0 for a free one: --control 127.0.0.1:0";
      reject(new LabError("USAGE", `the control cannot be served at ${address}: ${why}`, hint, { cause }));
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
    `"${address}" is no address of this machine for the control, which asks nobody who they are`,
    "Write it as 127.0.0.1:PORT.",
  );
}

async function answer(
  control: RuntimeControl,
  request: IncomingMessage,
  response: ServerResponse,
  ownPort: number,
  closing: AbortSignal,
): Promise<void> {
  if (refuseStranger(request, ownPort) !== undefined) {
    return json(response, 403, { error: "only programs of this machine may ask" });
  }
  try {
    const url = requestUrl(request.url);
    if (url === undefined) throw new BadRequest(`${shown(request.url)} is no path`);
    const route = routeFor(request.method ?? "", url.pathname, response);
    const given = await givenFields(request, url.searchParams, route.fields);
    const argument = argumentOf(route, url.pathname);
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, closing]);
    const found = await route.run({ control, argument, signal }, given);
    if (isStream(found)) await sendLines(response, request.method === "HEAD" ? [] : found);
    else json(response, 200, found ?? { done: true });
  } catch (error) {
    refuse(control, request, response, error);
  }
}

/** @throws BadRequest 404, 405 with the methods that there are in the response */
function routeFor(method: string, path: string, response: ServerResponse): Route {
  const here = ROUTES.filter(({ pattern }) => pattern.test(path));
  // Who asks for the head only gets that: node sends no body.
  const found = here.find((route) => route.method === (method === "HEAD" ? "GET" : method));
  if (found !== undefined) return found;
  if (here.length > 0) {
    const methods = here.map((route) => route.method).join(", ");
    response.setHeader("allow", methods);
    throw new BadRequest(`${method} is not for ${path}: expected ${methods}`, undefined, 405);
  }
  const like = suggestion(nearest([...new Set(ROUTES.map((route) => route.path))], path));
  throw new BadRequest(`there is nothing at ${shown(path)}: ${like}GET / lists what can be asked for`, undefined, 404);
}

function argumentOf({ pattern }: Route, path: string): string {
  const written = pattern.exec(path)?.[1] ?? "";
  try {
    return decodeURIComponent(written);
  } catch {
    throw new BadRequest(`${shown(written)} in the path is not percent-encoded UTF-8`);
  }
}

function refuse(control: RuntimeControl, request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // What is still to come of the body is not read as the next request.
  if (!request.complete) {
    response.setHeader("connection", "close");
    request.resume();
  }
  if (error instanceof BadRequest) {
    const { message, field, status } = error;
    json(response, status, { error: message, ...(field === undefined ? {} : { field }) });
  } else if (error instanceof RpcError) {
    const { code, message } = error;
    const known = code === "NotFound" ? `; ${whatThereIs(control)}` : "";
    json(response, STATUS_OF[code] ?? 409, { error: `${message}${known}`, code });
  } else if (error instanceof LabError) json(response, 400, { error: error.message });
  else json(response, 500, { error: `a bug of kubelab: ${error instanceof Error ? error.stack : String(error)}` });
}

/** All else that the runtime says no to would be done in another state. */
const STATUS_OF: Partial<Record<GrpcCode, number>> = { NotFound: 404, InvalidArgument: 400 };
const MAX_KNOWN = 20;
const ID_LENGTH = 13;

/** `there are sandboxes 5a1d (default/web) and containers c0de (default/web main)` */
function whatThereIs(control: RuntimeControl): string {
  const { sandboxes } = control.snapshot();
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
