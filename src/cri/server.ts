import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  logVerbosity,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  setLogVerbosity,
  type UntypedHandleCall,
} from "@grpc/grpc-js";
import { type DecodedFields, Encoded, type FieldTable, type InitFields } from "../protobuf/fields.js";
import { Bag } from "../util/bag.js";
import { isAbortError } from "../util/errors.js";
import { type Endpoint, parseEndpoint } from "./endpoint.js";
import { type Bound, bindTcp, bindUnix } from "./listen.js";
import type { AnyRpc, Rpc, Service } from "./rpc.js";
import { IMAGE_SERVICE, RUNTIME_SERVICE } from "./services.js";
import { GRPC_CODES, MAX_MESSAGE_BYTES, RpcError } from "./status.js";

/** What a handler is told besides the request. */
export interface CallContext {
  readonly rpc: AnyRpc;
  /** aborts when the client cancels, its deadline passes, the connection breaks or the server closes */
  readonly signal: AbortSignal;
}

/** What a handler gives back: the response's fields, or a response that was encoded before. */
type Answer<Res extends FieldTable> = InitFields<Res> | Encoded;

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
  // What goes wrong is thrown or is a call's status: the library need not write to stderr as well.
  setLogVerbosity(logVerbosity.NONE);
  const server = new Server({
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": -1,
    // Channelz stays on: without it the library forgets its sessions, and forceShutdown() leaves them open.
  });
  const live = new Bag<ServedCall>();
  addService(server, RUNTIME_SERVICE, handlers.runtime, live);
  addService(server, IMAGE_SERVICE, handlers.image, live);
  try {
    return new RunningServer(server, await bind(server, parsed), live);
  } catch (error) {
    server.forceShutdown();
    throw error;
  }
}

function bind(server: Server, endpoint: Endpoint): Promise<Bound> {
  const listen = (address: string) =>
    new Promise<number>((resolve, reject) => {
      server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
        if (error === null) resolve(port);
        else reject(error);
      });
    });
  return endpoint.kind === "unix" ? bindUnix(endpoint, listen) : bindTcp(endpoint, listen);
}

class RunningServer implements CriServer {
  #closed: Promise<void> | undefined;

  constructor(
    readonly server: Server,
    readonly bound: Bound,
    readonly live: Bag<ServedCall>,
  ) {}

  get endpoint(): string {
    return this.bound.url;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const call of [...this.live]) call.cancel();
    this.server.forceShutdown();
    await this.bound.remove();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

type Values = Readonly<Record<string, unknown>>;
type AnyHandler = (request: Values, context: CallContext) => unknown;

function addService(
  server: Server,
  service: Service,
  handlers: Readonly<Record<string, unknown>>,
  live: Bag<ServedCall>,
) {
  const definition: Record<string, MethodDefinition<Values, Values | Encoded>> = {};
  const implementation: Record<string, UntypedHandleCall> = {};
  for (const [name, rpc] of Object.entries(service)) {
    definition[name] = {
      path: rpc.path,
      requestStream: false,
      responseStream: rpc.isStream,
      requestSerialize: (value) => rpc.request.encode(value as Values),
      requestDeserialize: (bytes) => rpc.request.decode(bytes),
      responseSerialize: (value) => serialize(rpc, value),
      responseDeserialize: (bytes) => rpc.response.decode(bytes),
    };
    const handler = handlers[name] as AnyHandler | undefined;
    implementation[name] = rpc.isStream
      ? answerStream(rpc, (handler ?? unimplemented) as AnyHandler, live)
      : answerUnary(rpc, (handler ?? unimplemented) as AnyHandler, live);
  }
  server.addService(definition, implementation);
}

function serialize(rpc: AnyRpc, value: Values | Encoded): Buffer {
  if (!(value instanceof Encoded)) return rpc.response.encode(value);
  const { buffer, byteOffset, byteLength } = value.bytes;
  return Buffer.from(buffer, byteOffset, byteLength);
}

function unimplemented(_request: Values, { rpc }: CallContext): never {
  throw new RpcError("Unimplemented", `method ${rpc.name} not implemented`);
}

function answerUnary(
  rpc: AnyRpc,
  handler: AnyHandler,
  live: Bag<ServedCall>,
): handleUnaryCall<Values, Values | Encoded> {
  return async (call, callback) => {
    const context = new ServedCall(rpc, live, call);
    try {
      const value = (await handler(call.request, context)) as Values | Encoded;
      callback(null, value);
    } catch (error) {
      callback(statusOf(error));
    } finally {
      context.done();
    }
  };
}

function answerStream(
  rpc: AnyRpc,
  handler: AnyHandler,
  live: Bag<ServedCall>,
): handleServerStreamingCall<Values, Values | Encoded> {
  return async (call) => {
    const context = new ServedCall(rpc, live, call);
    try {
      for await (const value of handler(call.request, context) as AsyncIterable<Values | Encoded>) {
        if (context.signal.aborted) break;
        if (!call.write(value)) await drained(call, context.signal);
      }
      call.end();
    } catch (error) {
      if (!context.signal.aborted) call.emit("error", statusOf(error));
      else call.end();
    } finally {
      context.done();
    }
  };
}

/** Until the client has taken what was written, or is gone. */
function drained(call: ServerWritableStream<Values, Values | Encoded>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      call.removeListener("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    call.once("drain", done);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}

/** Why a handler's signal aborts. Made once: an error with its stack for each call costs more than the rest of it. */
const CANCELLED = new DOMException("context canceled", "AbortError");

/** A call while it is answered. Most handlers answer at once and never ask for the signal: it is made when they do. */
class ServedCall implements CallContext {
  #controller: AbortController | undefined;
  #isCancelled = false;

  constructor(
    readonly rpc: AnyRpc,
    readonly live: Bag<ServedCall>,
    call: { on(event: "cancelled", listener: () => void): unknown },
  ) {
    live.add(this);
    call.on("cancelled", () => this.cancel());
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isCancelled) this.#controller.abort(CANCELLED);
    }
    return this.#controller.signal;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#controller?.abort(CANCELLED);
  }

  done(): void {
    this.live.delete(this);
  }
}

function statusOf(error: unknown): { readonly code: number; readonly details: string } {
  if (error instanceof RpcError) return { code: GRPC_CODES.indexOf(error.code), details: error.message };
  if (isAbortError(error)) return { code: GRPC_CODES.indexOf("Canceled"), details: "context canceled" };
  const details = error instanceof Error ? error.message : String(error);
  return { code: GRPC_CODES.indexOf("Unknown"), details };
}
