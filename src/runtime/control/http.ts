import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { GRPC_CODES, type GrpcCode, RpcError } from "../../cri/status.js";
import { LabError } from "../../util/errors.js";
import type { ContainerSeed, PodSeed, RuntimeControl } from "./control.js";
import type { Fault } from "./faults.js";
import { BadBody, Body, readBody } from "./http-body.js";

/** The control of a runtime, served. */
export interface ControlServer {
  /** `http://127.0.0.1:4002` */
  readonly url: string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What a request asks for, and what it gets as JSON. */
interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: RegExp;
  run(control: RuntimeControl, argument: string, body: Body): unknown;
}

const SEED: readonly string[] = ["name", "namespace", "uid"];

/** What can be asked for: a GET changes nothing, a DELETE takes back what a POST has set. */
const ROUTES: readonly Route[] = [
  { method: "GET", path: /^\/state$/, run: (control) => control.snapshot() },
  { method: "POST", path: /^\/pods$/, run: (control, _none, body) => control.runPod(podSeed(body)) },
  {
    method: "POST",
    path: /^\/sandboxes\/([^/]+)\/containers$/,
    run: (control, id, body) => ({ containerId: control.runContainer(id, containerSeed(body)) }),
  },
  { method: "POST", path: /^\/sandboxes\/([^/]+)\/not-ready$/, run: (control, id) => control.setSandboxNotReady(id) },
  {
    method: "POST",
    path: /^\/sandboxes\/([^/]+)\/remove$/,
    run: (control, id, body) => control.removeSandbox(id, body.flag("silently")),
  },
  { method: "POST", path: /^\/containers\/([^/]+)\/start$/, run: (control, id) => control.startContainer(id) },
  { method: "POST", path: /^\/containers\/([^/]+)\/again$/, run: (control, id) => control.runAgain(id) },
  {
    method: "POST",
    path: /^\/containers\/([^/]+)\/kill$/,
    run: (control, id, body) => {
      const exitCode = body.number("exitCode");
      const signal = body.text("signal");
      return control.killContainer(id, {
        oom: body.flag("oom"),
        ...(exitCode === undefined ? {} : { exitCode }),
        ...(signal === undefined ? {} : { signal }),
      });
    },
  },
  {
    method: "POST",
    path: /^\/containers\/([^/]+)\/remove$/,
    run: (control, id, body) => control.removeContainer(id, body.flag("silently")),
  },
  { method: "POST", path: /^\/faults\/([^/]+)$/, run: (control, rpc, body) => control.setFault(rpc, readFault(body)) },
  { method: "DELETE", path: /^\/faults\/([^/]+)$/, run: (control, rpc) => control.setFault(rpc, undefined) },
  { method: "DELETE", path: /^\/faults$/, run: (control) => control.clearFaults() },
  {
    method: "POST",
    path: /^\/events\/drop$/,
    run: (control, _none, body) => control.dropEvents(body.number("count") ?? true),
  },
  { method: "DELETE", path: /^\/events\/drop$/, run: (control) => control.dropEvents(false) },
  { method: "POST", path: /^\/events\/break$/, run: (control) => control.breakEventStreams() },
  {
    method: "POST",
    path: /^\/conditions\/(RuntimeReady|NetworkReady)$/,
    run: (control, type, body) =>
      control.setCondition(type as "RuntimeReady" | "NetworkReady", body.text("message") ?? "made so by hand"),
  },
  {
    method: "DELETE",
    path: /^\/conditions\/(RuntimeReady|NetworkReady)$/,
    run: (control, type) => control.setCondition(type as "RuntimeReady" | "NetworkReady", undefined),
  },
  {
    method: "POST",
    path: /^\/pulls$/,
    run: (control, _none, body) => {
      const ms = body.number("ms");
      if (ms !== undefined) control.setPullTime(ms);
      const how = body.oneOf("fail", ["not-found", "denied", "unreachable", "rate-limited"]);
      if (how !== undefined) control.setPullFault(body.text("image") ?? "", how);
    },
  },
  {
    method: "DELETE",
    path: /^\/pulls$/,
    run: (control, _none, body) => control.setPullFault(body.text("image") ?? "", undefined),
  },
];

function podSeed(body: Body): PodSeed {
  for (const name of SEED) if (body.text(name) === undefined) throw new BadBody(`${name} is missing`);
  return {
    name: body.text("name") ?? "",
    namespace: body.text("namespace") ?? "",
    uid: body.text("uid") ?? "",
    attempt: body.number("attempt") ?? 0,
    labels: body.texts("labels"),
    annotations: body.texts("annotations"),
    ...body.optional("sandboxId"),
    ...body.optional("hostname"),
    ...body.optional("logDirectory"),
    containers: body.list("containers").map(containerSeed),
  };
}

function containerSeed(body: Body): ContainerSeed {
  const [name, image] = [body.text("name"), body.text("image")];
  if (name === undefined || image === undefined) throw new BadBody("a container needs a name and an image");
  return {
    name,
    image,
    ...body.optional("id"),
    ...body.optional("logPath"),
    attempt: body.number("attempt") ?? 0,
    command: body.strings("command"),
    args: body.strings("args"),
    env: body.texts("env"),
    annotations: body.texts("annotations"),
    state: body.oneOf("state", ["created", "running"]) ?? "running",
  };
}

function readFault(body: Body): Fault {
  const delayMs = body.number("delayMs");
  const count = body.number("count");
  const code = body.oneOf<GrpcCode>("code", GRPC_CODES);
  return {
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(count === undefined ? {} : { count }),
    hangs: body.flag("hangs"),
    ...(code === undefined ? {} : { fail: { code, message: body.text("message") ?? "made to fail by hand" } }),
  };
}

/**
 * Serves the control at a loopback address: GET /state, POST and DELETE as ROUTES says, GET /changes as lines of JSON.
 * Arguments come as a JSON object or in the query: `curl -X POST localhost:4002/containers/4f0c/kill?oom=true`.
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
  if (isStranger(request, ownPort)) return json(response, 403, { error: "only programs of this machine may ask" });
  const url = new URL(request.url ?? "/", "http://control");
  if (url.pathname === "/changes" && request.method === "GET") return sendChanges(control, response, closing);
  const here = ROUTES.filter(({ path }) => path.test(url.pathname));
  const route = here.find(({ method }) => method === request.method);
  if (route === undefined) {
    if (here.length === 0)
      return json(response, 404, { error: `there is nothing at ${url.pathname}`, routes: routes() });
    response.setHeader("allow", here.map(({ method }) => method).join(", "));
    return json(response, 405, { error: `${request.method} is not for ${url.pathname}` });
  }
  try {
    const argument = decodeURIComponent(route.path.exec(url.pathname)?.[1] ?? "");
    const body = new Body(await readBody(request), url.searchParams);
    json(response, 200, (await route.run(control, argument, body)) ?? { done: true });
  } catch (error) {
    if (error instanceof RpcError) {
      return json(response, error.code === "NotFound" ? 404 : 409, { error: error.message, code: error.code });
    }
    if (!(error instanceof LabError || error instanceof BadBody || error instanceof URIError)) throw error;
    json(response, 400, { error: error.message });
  }
}

/** All that can be asked for, as one types it: `POST /containers/ID/kill`. */
function routes(): string[] {
  const typed = ({ method, path }: Route) =>
    `${method} ${path.source
      .replace(/^\^|\$$|\\/g, "")
      .replaceAll("([^/]+)", "ID")
      .replace(/\((.+)\)/, "$1")}`;
  return [...ROUTES.map(typed), "GET /changes"];
}

/** A page of somewhere else sends its own Origin; one whose name was made to point here sends its own Host. */
function isStranger({ headers }: IncomingMessage, port: number): boolean {
  const isOwn = (host: string) => new RegExp(`^(127(\\.\\d{1,3}){3}|localhost|\\[::1\\]):${port}$`, "i").test(host);
  const { host = "", origin } = headers;
  return !isOwn(host) || (origin !== undefined && !isOwn(origin.replace(/^http:\/\//i, "")));
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(value)}\n`);
}

async function sendChanges(control: RuntimeControl, response: ServerResponse, closing: AbortSignal): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" });
  response.flushHeaders();
  for await (const change of control.changes(AbortSignal.any([gone.signal, closing]))) {
    response.write(`${JSON.stringify(change)}\n`);
  }
  response.end();
}
