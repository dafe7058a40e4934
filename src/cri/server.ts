import { createServer, type ListenOptions, type Server } from "node:net";
import type { DecodedFields } from "../apimachinery/protobuf/fields.js";
import { Bag } from "../util/bag.js";
import { type Endpoint, parseEndpoint } from "./endpoint.js";
import { type Bound, bindTcp, bindUnix } from "./listen.js";
import type { Rpc, Service } from "./rpc.js";
import { type Answer, type AnyHandler, type CallContext, RefusedCall, type Route, ServedCall } from "./served-call.js";
import { IMAGE_SERVICE, RUNTIME_SERVICE } from "./services.js";
import { RpcError } from "./status.js";
import { ServerSession } from "./transport/server-session.js";

/**
 * The functions behind a service. What is left out answers Unimplemented. A thrown RpcError is the call's status; whatever
 * else is thrown becomes Unknown with its message, as a plain error does in Go.
 */
export type Handlers<S extends Service> = {
  readonly [K in keyof S]?: S[K] extends Rpc<infer Req, infer Res, infer Stream>
    ? true extends Stream
      ? (request: DecodedFields<Req>, context: CallContext) => AsyncIterable<Answer<Res>>
      : (request: DecodedFields<Req>, context: CallContext) => Answer<Res> | Promise<Answer<Res>>
    : never;
};

export interface CriHandlers {
  readonly runtime: Handlers<typeof RUNTIME_SERVICE>;
  readonly image: Handlers<typeof IMAGE_SERVICE>;
}

/** A runtime that listens. */
export interface CriServer {
  /** with the port that was chosen: `unix:///tmp/x.sock`, `tcp://127.0.0.1:4001` */
  readonly endpoint: string;
  /** Ends what is under way, and removes the socket file if it is still this server's. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Serves runtime.v1 on `unix:///path` (mode 0600) or `tcp://127.0.0.1:PORT` (0: any free port).
 *
 * A socket file at that path on which nobody listens is replaced; anything else is left alone.
 * @throws LabError USAGE for an endpoint that is none or that others could reach, BAD_FILE where it cannot listen
 */
export async function serveCri(handlers: CriHandlers, endpoint: string): Promise<CriServer> {
  const parsed = parseEndpoint(endpoint);
  const routes = new Map([...routesOf(RUNTIME_SERVICE, handlers.runtime), ...routesOf(IMAGE_SERVICE, handlers.image)]);
  const server = new RunningServer(routes);
  return server.listen(parsed);
}

type Routes = ReadonlyMap<string, Route>;

function routesOf(service: Service, handlers: Readonly<Record<string, unknown>>): [path: string, route: Route][] {
  return Object.entries(service).map(([name, rpc]) => {
    return [rpc.path, { rpc, handler: (handlers[name] ?? unimplemented) as AnyHandler }];
  });
}

function unimplemented(_request: unknown, { rpc }: CallContext): never {
  throw new RpcError("Unimplemented", `method ${rpc.name} not implemented`);
}

class RunningServer implements CriServer {
  endpoint = "";
  readonly #server: Server;
  readonly #sessions = new Set<ServerSession>();
  readonly #live = new Bag<ServedCall>();
  #bound: Bound | undefined;
  #closed: Promise<void> | undefined;

  constructor(readonly routes: Routes) {
    this.#server = createServer({ noDelay: true }, (socket) => {
      const session = new ServerSession(socket, (fields, stream) => {
        const route = this.routes.get(fields[":path"] ?? "");
        const isGrpc = fields["content-type"]?.startsWith("application/grpc") === true;
        return route === undefined || !isGrpc
          ? new RefusedCall(fields, stream)
          : new ServedCall(route, stream, this.#live);
      });
      this.#sessions.add(session);
      socket.once("close", () => this.#sessions.delete(session));
    });
  }

  async listen(endpoint: Endpoint): Promise<CriServer> {
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
    for (const call of [...this.#live]) call.cancel();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of [...this.#sessions]) session.destroy("the server was closed");
    await closed;
    await this.#bound?.remove();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** @returns the port, for an address that has one */
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
