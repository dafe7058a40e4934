import type { handleServerStreamingCall, handleUnaryCall, Metadata, ServerWritableStream } from "@grpc/grpc-js";
import type { Trace } from "../../../trace/trace.js";
import { parseTraceparent, TRACEPARENT } from "../../../trace/traceparent.js";
import { isAbortError, messageOf } from "../../../util/errors.js";
import { GRPC_CODES } from "../../../util/net/grpc-codes.js";
import { Encoded, type FieldTable, type InitFields } from "../../apimachinery/protobuf/fields.js";
import type { AnyRpc } from "./rpc.js";
import { RpcError } from "./status.js";

/** The handler's arguments in addition to the request. */
export interface CallContext {
  readonly rpc: AnyRpc;
  /** aborts when the client cancels, the deadline passes, the connection breaks or the server closes */
  readonly signal: AbortSignal;
}

/** The result of a handler: the response's fields, or an encoded response. */
export type Answer<Res extends FieldTable> = InitFields<Res> | Encoded;

type Values = Readonly<Record<string, unknown>>;
export type AnyHandler = (request: Values, context: CallContext) => unknown;

/** A method that is served. */
export interface Route {
  readonly rpc: AnyRpc;
  readonly handler: AnyHandler;
  /** keeps the causes of a handler's facts */
  readonly trace: Trace | undefined;
  /** is called after each response was written */
  readonly responded: (byteCount: number) => void;
}

/** The reason for a handler's abort. Shared, because creating an error with a stack costs more than the call. */
const CANCELLED = new DOMException("context canceled", "AbortError");

/** A handler's view of its call. Most handlers answer at once without using the signal, so it is made on demand. */
class ServedCall implements CallContext {
  #controller: AbortController | undefined;
  #isCancelled = false;
  #isAnswered = false;

  constructor(
    readonly rpc: AnyRpc,
    grpcCall: { once(event: "cancelled", listener: () => void): unknown },
  ) {
    // grpc-js emits this at the end of every call.
    grpcCall.once("cancelled", () => {
      if (this.#isAnswered) return;
      this.#isCancelled = true;
      this.#controller?.abort(CANCELLED);
    });
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isCancelled) this.#controller.abort(CANCELLED);
    }
    return this.#controller.signal;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  answered(): void {
    this.#isAnswered = true;
  }
}

/** Serves a method with one response. Mirrors google.golang.org/grpc/server.go (processUnaryRPC). */
export function unaryCall({ rpc, handler, trace, responded }: Route): handleUnaryCall<Buffer, Buffer> {
  return async (grpcCall, respond) => {
    const call = new ServedCall(rpc, grpcCall);
    try {
      const request = decoded(rpc, grpcCall.request);
      const value = await withCause(trace, grpcCall.metadata, () => handler(request, call));
      call.answered();
      const response = encoded(rpc, value);
      respond(null, response);
      responded(response.length);
    } catch (error) {
      call.answered();
      respond(statusOf(error));
    }
  };
}

/** Serves a method with a stream of responses. Mirrors google.golang.org/grpc/server.go (processStreamingRPC). */
export function streamingCall({ rpc, handler, trace, responded }: Route): handleServerStreamingCall<Buffer, Buffer> {
  return async (grpcCall) => {
    const call = new ServedCall(rpc, grpcCall);
    const serve = async () => {
      for await (const value of handler(decoded(rpc, grpcCall.request), call) as AsyncIterable<unknown>) {
        if (call.isCancelled) break;
        const response = encoded(rpc, value);
        const isRead = grpcCall.write(response);
        responded(response.length);
        if (!isRead) await drained(grpcCall);
      }
    };
    try {
      await withCause(trace, grpcCall.metadata, serve);
      call.answered();
      grpcCall.end();
    } catch (error) {
      call.answered();
      grpcCall.emit("error", statusOf(error));
    }
  };
}

/** Runs a handler with the client's fact as its cause. A client that reports no facts, such as crictl, begins a chain. */
function withCause<T>(trace: Trace | undefined, metadata: Metadata, handle: () => T): T {
  if (trace?.wantsCauses !== true) return handle();
  const causedBy = parseTraceparent(metadata.get(TRACEPARENT)[0]);
  return causedBy === undefined ? trace.origin("client", handle) : trace.because({ causedBy }, handle);
}

/** Waits until the client has received all written bytes, or is gone. */
function drained(grpcCall: ServerWritableStream<Buffer, Buffer>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      grpcCall.removeListener("drain", done).removeListener("cancelled", done);
      resolve();
    };
    if (grpcCall.cancelled) resolve();
    else grpcCall.once("drain", done).once("cancelled", done);
  });
}

/** @throws RpcError */
function decoded(rpc: AnyRpc, request: Buffer): Values {
  try {
    return rpc.request.decode(request);
  } catch (cause) {
    const why = messageOf(cause);
    throw new RpcError("Internal", `grpc: error unmarshalling request: ${why}`, { cause });
  }
}

function encoded(rpc: AnyRpc, value: unknown): Buffer {
  if (!(value instanceof Encoded)) return rpc.response.encode(value as Values);
  const { buffer, byteOffset, byteLength } = value.bytes;
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** An error as grpc-js's status. */
function statusOf(error: unknown): { readonly code: number; readonly details: string } {
  if (isAbortError(error)) return { code: GRPC_CODES.indexOf("Canceled"), details: "context canceled" };
  const code = error instanceof RpcError ? error.code : "Unknown";
  const message = messageOf(error);
  // grpc-js cannot percent-encode half a surrogate pair.
  return { code: GRPC_CODES.indexOf(code), details: Buffer.from(message).toString() };
}
