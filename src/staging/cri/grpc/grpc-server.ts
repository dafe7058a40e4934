import assert from "node:assert/strict";
import type { Http2Server, ServerOptions } from "node:http2";
import { createServer, type ListenOptions, type Server, type Socket } from "node:net";
import { Server as GrpcServer, logVerbosity, ServerCredentials, setLogVerbosity } from "@grpc/grpc-js";
import type { Trace } from "../../../trace/trace.js";
import { socketPathProblem } from "../../../util/os/paths.js";
import type { DecodedFields } from "../../apimachinery/protobuf/fields.js";
import { type Endpoint, parseEndpoint } from "./endpoint.js";
import { type Bound, bindTcp, bindUnix } from "./listen.js";
import { PathAuthorityConnection } from "./path-authority.js";
import type { AnyRpc, Rpc, Service } from "./rpc.js";
import { type Answer, type AnyHandler, type CallContext, type Route, streamingCall, unaryCall } from "./served-call.js";
import { SESSION_LIMITS, SessionGuard, type SessionLimits } from "./session-guard.js";
import { MAX_MESSAGE_BYTES, RpcError } from "./status.js";

/**
 * The functions behind a service. Missing functions answer Unimplemented. A thrown RpcError is the call's status; any other
 * error becomes Unknown with its message, as in Go.
 */
export type Handlers<S extends Service> = {
  readonly [K in keyof S]?: S[K] extends Rpc<infer Req, infer Res, infer Stream>
    ? true extends Stream
      ? (request: DecodedFields<Req>, context: CallContext) => AsyncIterable<Answer<Res>>
      : (request: DecodedFields<Req>, context: CallContext) => Answer<Res> | Promise<Answer<Res>>
    : never;
};

/** A method and the function behind it. */
export interface ServedMethod {
  readonly rpc: AnyRpc;
  readonly handler: AnyHandler;
}

/** All methods of a service. */
export function methodsOf<S extends Service>(service: S, handlers: Handlers<S>): ServedMethod[] {
  const functions = handlers as Readonly<Record<string, AnyHandler | undefined>>;
  return Object.entries(service).map(([name, rpc]) => ({ rpc, handler: functions[name] ?? unimplemented }));
}

export interface ServeOptions {
  /** default: SESSION_LIMITS */
  readonly limits?: SessionLimits;
  /** keeps the causes of the handlers' facts */
  readonly trace?: Trace;
}

/** A listening gRPC server. */
export interface RunningGrpcServer extends AsyncDisposable {
  /** with the actual port: `unix:///tmp/x.sock`, `tcp://127.0.0.1:4001` */
  readonly endpoint: string;
  /** Bounds what clients can make the server hold. */
  readonly guard: SessionGuard;
  /** Ends all calls and connections, and removes the socket file unless another server has replaced it. */
  close(): Promise<void>;
}

/**
 * Serves methods on `unix:///path` (mode 0600) or `tcp://127.0.0.1:PORT` (0: any free port).
 *
 * Replaces a socket file that has no server; keeps any other file. All gRPC servers are created here, so that each
 * serves Go clients (PathAuthorityConnection) and survives their resets (SessionGuard).
 * @throws LabError USAGE for an invalid endpoint or one that other machines can reach, BAD_FILE if it cannot listen
 */
export async function serveGrpc(
  methods: readonly ServedMethod[],
  endpoint: string,
  { limits = SESSION_LIMITS, trace }: ServeOptions = {},
): Promise<RunningGrpcServer> {
  const parsed = parseEndpoint(endpoint);
  // grpc-js would print complaints about a client's headers on stderr, in the middle of a trace.
  setLogVerbosity(logVerbosity.NONE);
  const grpc = new GrpcServer(OPTIONS);
  const settings = { maxConcurrentStreams: limits.streamsPerSession, maxHeaderListSize: MAX_HEADER_BYTES };
  Object.assign(grpc["commonServerOptions"], { settings } satisfies ServerOptions);
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
  // grpc-js has no public access to its HTTP/2 server.
  const [http2] = (grpc["http2Servers"] as ReadonlyMap<Http2Server, unknown>).keys();
  assert(http2 !== undefined);
  const guard = new SessionGuard(http2, limits);
  const responded = (byteCount: number) => guard.responded(byteCount);
  for (const method of methods) register(grpc, { ...method, trace, responded });
  const inject = (socket: Socket) => injector.injectConnection(new PathAuthorityConnection(socket));
  return new ListeningServer(grpc, inject, guard).listen(parsed);
}

/**
 * Serves methods on the socket `path`, as a kubelet does for programs on its machine.
 * @throws Error for a path that no socket can have; LabError as `serveGrpc`
 */
export async function serveSocket(
  methods: readonly ServedMethod[],
  path: string,
  trace: Trace,
): Promise<RunningGrpcServer> {
  const problem = socketPathProblem(path);
  if (problem !== undefined) throw new Error(`${problem}: ${path}`);
  return serveGrpc(methods, `unix://${path}`, { trace });
}

const OPTIONS = {
  "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
  // Statistics that are not used. ListeningServer tracks the connections itself.
  "grpc.enable_channelz": 0,
};

/** The largest sum of a request's header fields, counting 32 extra bytes for each. grpc-js's default for metadata is the same. */
const MAX_HEADER_BYTES = 16 * 1024;

function register(grpc: GrpcServer, route: Route): void {
  const { path, isStream } = route.rpc;
  if (isStream) grpc.register(path, streamingCall(route), asIs, asIs, "serverStream");
  else grpc.register(path, unaryCall(route), asIs, asIs, "unary");
}

/** Handlers decode and encode, so that errors there become a status. */
function asIs(bytes: Buffer): Buffer {
  return bytes;
}

function unimplemented(_request: unknown, { rpc }: CallContext): never {
  throw new RpcError("Unimplemented", `method ${rpc.name} not implemented`);
}

/** Listens itself, so that a socket file appears only with its final mode, and passes each connection to grpc-js. */
class ListeningServer implements RunningGrpcServer {
  endpoint = "";
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #bound: Bound | undefined;
  #closed: Promise<void> | undefined;

  constructor(
    readonly grpc: GrpcServer,
    inject: (socket: Socket) => void,
    readonly guard: SessionGuard,
  ) {
    this.#server = createServer({ noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      inject(socket);
    });
  }

  async listen(endpoint: Endpoint): Promise<RunningGrpcServer> {
    const listen = (address: ListenOptions) => listenOn(this.#server, address);
    try {
      this.#bound = await (endpoint.kind === "unix" ? bindUnix(endpoint, listen) : bindTcp(endpoint, listen));
    } catch (error) {
      this.#server.close();
      throw error;
    }
    this.endpoint = this.#bound.url;
    return this;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.grpc.forceShutdown();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    await this.#bound?.remove();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** @returns the port of a TCP address */
function listenOn(server: Server, address: ListenOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, () => {
      server.removeListener("error", reject);
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : 0);
    });
  });
}
