import { type GrpcCode, grpcCode } from "../status.js";
import type { BufferPool } from "./buffer-pool.js";
import { ErrorCode } from "./frames.js";
import type { Fields } from "./hpack.js";
import { requestBlock, type Session, type StreamEnd, type StreamHandle, type StreamSink } from "./session.js";

/** How a call ended, in gRPC's terms. */
export interface GrpcStatus {
  readonly code: GrpcCode;
  readonly message: string;
}

/** What comes back on one call. */
export interface ExchangeSink {
  /** the answer's head is there */
  opened?(): void;
  /** one message, whole; the bytes are the sink's to keep */
  message(bytes: Buffer): void;
  /** once, last */
  ended(status: GrpcStatus): void;
}

export interface Exchange {
  /** Tells the other side that nobody waits any more. `ended` is not called then. */
  cancel(): void;
  /** Stops the other side from sending more than fits the window, until `resume`. */
  pause(): void;
  resume(): void;
}

export interface CallHead {
  /** of `callBlock` */
  readonly block: Buffer;
  readonly maxMessageBytes: number;
  /** where the messages' buffers come from; whoever reads them gives them back */
  readonly pool: BufferPool;
}

/**
 * One gRPC call over HTTP/2: a POST whose body is the request message, and whose answer is messages and then, in the
 * trailers, a status. Each message has five bytes before it: a flag for compression (never asked for) and its length.
 */
export function startExchange(session: Session, head: CallHead, request: Buffer, sink: ExchangeSink): Exchange {
  const body = Buffer.allocUnsafe(PREFIX_BYTES + request.length);
  body[0] = 0;
  body.writeUInt32BE(request.length, 1);
  request.copy(body, PREFIX_BYTES);
  const incoming = new Incoming(head, sink);
  incoming.stream = session.request(head.block, body, incoming);
  return incoming;
}

/** The head of a call: the same bytes for each call of an rpc with the same timeout. */
export function callBlock(path: string, timeout: string | undefined): Buffer {
  const fields: [string, string][] = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "localhost"],
    ["te", "trailers"],
    ["content-type", "application/grpc"],
    ["user-agent", "kubelab"],
  ];
  if (timeout !== undefined) fields.push(["grpc-timeout", timeout]);
  return requestBlock(fields);
}

const PREFIX_BYTES = 5;

/** Puts messages together from the pieces that arrive, and finds out how the call ended. */
class Incoming implements Exchange, StreamSink {
  /** undefined only while the request is being sent */
  stream: StreamHandle | undefined;
  #isOver = false;
  #headers: Fields | undefined;
  #trailers: Fields | undefined;
  /** the length prefix so far, where it came in pieces */
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixBytes = 0;
  #message: Buffer | undefined;
  #messageBytes = 0;

  constructor(
    readonly head: CallHead,
    readonly sink: ExchangeSink,
  ) {}

  headers(fields: Fields): void {
    if (this.#headers !== undefined) {
      this.#trailers = fields;
      return;
    }
    // 1xx: the real ones follow.
    if (fields[":status"]?.startsWith("1") === true) return;
    this.#headers = fields;
    this.sink.opened?.();
  }

  data(piece: Buffer): void {
    this.#take(piece);
  }

  closed(how: StreamEnd): void {
    this.#end(this.#finalStatus(how));
  }

  #take(piece: Buffer): void {
    let at = 0;
    while (at < piece.length && !this.#isOver) {
      if (this.#message === undefined) at = this.#takePrefix(piece, at);
      else {
        const count = Math.min(piece.length - at, this.#message.length - this.#messageBytes);
        piece.copy(this.#message, this.#messageBytes, at, at + count);
        this.#messageBytes += count;
        at += count;
      }
      if (this.#message !== undefined && this.#messageBytes === this.#message.length) {
        const message = this.#message;
        this.#message = undefined;
        this.sink.message(message);
      }
    }
  }

  #takePrefix(piece: Buffer, at: number): number {
    const count = Math.min(piece.length - at, PREFIX_BYTES - this.#prefixBytes);
    piece.copy(this.#prefix, this.#prefixBytes, at, at + count);
    this.#prefixBytes += count;
    if (this.#prefixBytes === PREFIX_BYTES) this.#beginMessage();
    return at + count;
  }

  #beginMessage(): void {
    this.#prefixBytes = 0;
    const length = this.#prefix.readUInt32BE(1);
    if (this.#prefix[0] !== 0) this.#refuse("Internal", "grpc: compressed message, and no compression was asked for");
    else if (length > this.head.maxMessageBytes) {
      const text = `grpc: received message larger than max (${length} vs. ${this.head.maxMessageBytes})`;
      this.#refuse("ResourceExhausted", text);
    } else {
      this.#message = this.head.pool.take(length);
      this.#messageBytes = 0;
    }
  }

  #refuse(code: GrpcCode, message: string): void {
    this.#end({ code, message });
    this.stream?.cancel();
  }

  #end(status: GrpcStatus): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.sink.ended(status);
  }

  /** The trailers' status; a server that refuses at once has it in its only headers. */
  #finalStatus(how: StreamEnd): GrpcStatus {
    const last = this.#trailers ?? this.#headers ?? {};
    const status = last["grpc-status"];
    if (status !== undefined && /^\d+$/.test(status)) {
      return { code: grpcCode(Number(status)), message: decodeMessage(last["grpc-message"] ?? "") };
    }
    if (how.by === "connection") return { code: "Unavailable", message: `error reading from server: ${how.why}` };
    const http = Number(this.#headers?.[":status"] ?? 200);
    if (http !== 200) return { code: codeOfHttp(http), message: `unexpected HTTP status code ${http}` };
    if (how.by === "end") return { code: "Internal", message: "server closed the stream without sending trailers" };
    const code = CODES_OF_RESET[how.code] ?? "Internal";
    return { code, message: `stream terminated by RST_STREAM with error code ${how.code}` };
  }

  cancel(): void {
    this.#isOver = true;
    this.stream?.cancel();
  }

  pause(): void {
    this.stream?.pause();
  }

  resume(): void {
    this.stream?.resume();
  }
}

/** Mirrors google.golang.org/grpc/internal/transport/http_util.go (HTTPStatusConvTab). */
function codeOfHttp(status: number): GrpcCode {
  switch (status) {
    case 400:
      return "Internal";
    case 401:
      return "Unauthenticated";
    case 403:
      return "PermissionDenied";
    case 404:
      return "Unimplemented";
    case 429:
    case 502:
    case 503:
    case 504:
      return "Unavailable";
    default:
      return "Unknown";
  }
}

/** Mirrors google.golang.org/grpc/internal/transport/http_util.go (http2ErrConvTab). */
const CODES_OF_RESET: Readonly<Record<number, GrpcCode>> = {
  [ErrorCode.FLOW_CONTROL_ERROR]: "ResourceExhausted",
  [ErrorCode.REFUSED_STREAM]: "Unavailable",
  [ErrorCode.CANCEL]: "Canceled",
  [ErrorCode.ENHANCE_YOUR_CALM]: "ResourceExhausted",
  [ErrorCode.INADEQUATE_SECURITY]: "PermissionDenied",
};

/** gRPC sends what is not plain ASCII as %XX. */
function decodeMessage(raw: string): string {
  if (!raw.includes("%")) return raw;
  const bytes = raw.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}
