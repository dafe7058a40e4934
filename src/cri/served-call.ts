import { Encoded, type FieldTable, type InitFields } from "../apimachinery/protobuf/fields.js";
import type { Bag } from "../util/bag.js";
import { isAbortError } from "../util/errors.js";
import type { AnyRpc } from "./rpc.js";
import { GRPC_CODES, type GrpcCode, MAX_MESSAGE_BYTES, RpcError } from "./status.js";
import { encodeField, type Fields } from "./transport/hpack.js";
import { MessageReader, type MessageSink, PREFIX_BYTES, putPrefix, withPrefix } from "./transport/message-reader.js";
import type { RequestSink, ServerStream } from "./transport/server-stream.js";

/** What a handler is told besides the request. */
export interface CallContext {
  readonly rpc: AnyRpc;
  /** aborts when the client cancels, as it does when its deadline passes, the connection breaks or the server closes */
  readonly signal: AbortSignal;
}

/** What a handler gives back: the response's fields, or a response that was encoded before. */
export type Answer<Res extends FieldTable> = InitFields<Res> | Encoded;

type Values = Readonly<Record<string, unknown>>;
export type AnyHandler = (request: Values, context: CallContext) => unknown;

/** A method that is served. */
export interface Route {
  readonly rpc: AnyRpc;
  readonly handler: AnyHandler;
}

/** `:status 200` and `content-type`: the head of each answer. */
const HEAD = Buffer.concat([Buffer.from([0x88]), encodeField("content-type", "application/grpc")]);
const STATUS_OK = encodeField("grpc-status", "0");
/** What speaks HTTP/2 and not gRPC. */
const UNSUPPORTED_MEDIA_TYPE = encodeField(":status", "415");

/** What is decoded may keep views of its bytes: buffers of requests are not used again. */
const FRESH = { take: (length: number) => Buffer.allocUnsafe(length) };

/** Why a handler's signal aborts. Made once: an error with its stack for each call costs more than the rest of it. */
const CANCELLED = new DOMException("context canceled", "AbortError");

/**
 * One call while it is answered.
 *
 * Mirrors google.golang.org/grpc/server.go (processUnaryRPC, processStreamingRPC).
 * Differs: the deadline that a client names is left to the client, which cancels when it has passed.
 */
export class ServedCall implements CallContext, RequestSink, MessageSink {
  /** Most handlers answer at once and never ask for the signal: it is made when they do. */
  #controller: AbortController | undefined;
  #isCancelled = false;
  #request: Buffer | undefined;
  #refusal: RpcError | undefined;
  readonly #reader: MessageReader;

  constructor(
    readonly route: Route,
    readonly stream: ServerStream,
    readonly live: Bag<ServedCall>,
  ) {
    this.#reader = new MessageReader(MAX_MESSAGE_BYTES, FRESH, this);
    live.add(this);
  }

  get rpc(): AnyRpc {
    return this.route.rpc;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isCancelled) this.#controller.abort(CANCELLED);
    }
    return this.#controller.signal;
  }

  data(bytes: Buffer, from: number, to: number): void {
    this.#reader.read(bytes, from, to);
  }

  message(bytes: Buffer): void {
    this.#request ??= bytes;
  }

  messageWithin(bytes: Buffer, from: number, to: number): void {
    this.#request ??= Buffer.from(bytes.subarray(from, to));
  }

  refused(code: GrpcCode, why: string): void {
    this.#refusal = new RpcError(code, why);
  }

  ended(): void {
    void (this.rpc.isStream ? this.#answerMany() : this.#answerOne());
  }

  cancelled(): void {
    this.cancel();
    this.live.delete(this);
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#controller?.abort(CANCELLED);
  }

  async #answerOne(): Promise<void> {
    try {
      const value = await this.route.handler(this.#decoded(), this);
      this.stream.respond(HEAD, encoded(this.rpc, value), STATUS_OK);
    } catch (error) {
      this.stream.end(refusalBlock(error));
    } finally {
      this.live.delete(this);
    }
  }

  async #answerMany(): Promise<void> {
    let hasBegun = false;
    try {
      for await (const value of this.route.handler(this.#decoded(), this) as AsyncIterable<unknown>) {
        if (this.#isCancelled) break;
        if (!hasBegun) this.stream.begin(HEAD);
        hasBegun = true;
        const isEnough = !this.stream.write(encoded(this.rpc, value));
        if (isEnough) await new Promise<void>((resolve) => this.stream.hasRoom(resolve));
      }
      this.stream.end(hasBegun ? STATUS_OK : Buffer.concat([HEAD, STATUS_OK]));
    } catch (error) {
      this.stream.end(hasBegun ? statusBlock(error) : refusalBlock(error));
    } finally {
      this.live.delete(this);
    }
  }

  /** @throws RpcError */
  #decoded(): Values {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#request === undefined) throw new RpcError("Internal", "grpc: the request has no message");
    try {
      return this.rpc.request.decode(this.#request);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new RpcError("Internal", `grpc: error unmarshalling request: ${why}`, { cause });
    }
  }
}

/** Takes a request that nobody serves, and says so. */
export class RefusedCall implements RequestSink {
  constructor(
    readonly fields: Fields,
    readonly stream: ServerStream,
  ) {}

  data(): void {}

  cancelled(): void {}

  ended(): void {
    const isGrpc = this.fields["content-type"]?.startsWith("application/grpc") === true;
    const why = new RpcError("Unimplemented", `unknown method ${this.fields[":path"]}`);
    this.stream.end(isGrpc ? refusalBlock(why) : UNSUPPORTED_MEDIA_TYPE);
  }
}

/** A response as it is sent. */
function encoded(rpc: AnyRpc, value: unknown): Buffer {
  if (value instanceof Encoded) return withPrefix(value.bytes);
  return putPrefix(rpc.response.encode(value as Values, PREFIX_BYTES));
}

/** The only block of an answer that brings nothing but a status. */
function refusalBlock(error: unknown): Buffer {
  return Buffer.concat([HEAD, statusBlock(error)]);
}

function statusBlock(error: unknown): Buffer {
  const { code, message } = statusOf(error);
  const status = encodeField("grpc-status", String(GRPC_CODES.indexOf(code)));
  return Buffer.concat([status, encodeField("grpc-message", encodeMessage(message))]);
}

function statusOf(error: unknown): { readonly code: GrpcCode; readonly message: string } {
  if (error instanceof RpcError) return error;
  if (isAbortError(error)) return { code: "Canceled", message: "context canceled" };
  return { code: "Unknown", message: error instanceof Error ? error.message : String(error) };
}

/** gRPC sends what is not plain ASCII as %XX. */
function encodeMessage(text: string): string {
  if (/^[ -$&-~]*$/.test(text)) return text;
  const bytes = [...Buffer.from(text)];
  const isPlain = (byte: number) => byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
  return bytes
    .map((byte) => (isPlain(byte) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`))
    .join("");
}
