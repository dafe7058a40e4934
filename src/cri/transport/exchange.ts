import { type GrpcCode, grpcCode } from "../status.js";
import type { BufferPool } from "./buffer-pool.js";
import type { ClientSession } from "./client-session.js";
import type { ClientStream, StreamEnd, StreamSink } from "./client-stream.js";
import { ErrorCode } from "./frames.js";
import type { RequestHead } from "./header-encoder.js";
import type { Fields } from "./hpack.js";
import { MessageReader, type MessageSink, withPrefix } from "./message-reader.js";

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
  /** of `requestHead` */
  readonly request: RequestHead;
  readonly maxMessageBytes: number;
  /** where the messages' buffers come from; whoever reads them gives them back */
  readonly pool: BufferPool;
}

/**
 * One gRPC call over HTTP/2: a POST whose body is the request message, and whose answer is messages and then, in the
 * trailers, a status. Each message has five bytes before it: a flag for compression (never asked for) and its length.
 */
export function startExchange(session: ClientSession, head: CallHead, request: Buffer, sink: ExchangeSink): Exchange {
  const body = withPrefix(request);
  const incoming = new Incoming(head, sink);
  incoming.stream = session.request(head.request, body, incoming);
  return incoming;
}

/** The head of a call: the same for each call of an rpc with the same timeout. */
export function requestHead(path: string, timeout: string | undefined): RequestHead {
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
  return fields;
}

/** Takes what arrives, and finds out how the call ended. */
class Incoming implements Exchange, StreamSink, MessageSink {
  /** undefined only while the request is being sent */
  stream: ClientStream | undefined;
  #isOver = false;
  #headers: Fields | undefined;
  #trailers: Fields | undefined;
  readonly #reader: MessageReader;

  constructor(
    readonly head: CallHead,
    readonly sink: ExchangeSink,
  ) {
    this.#reader = new MessageReader(head.maxMessageBytes, head.pool, this);
  }

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
    this.#reader.read(piece);
  }

  closed(how: StreamEnd): void {
    this.#end(this.#finalStatus(how));
  }

  message(bytes: Buffer): void {
    this.sink.message(bytes);
  }

  refused(code: GrpcCode, message: string): void {
    this.#end({ code, message });
    this.stream?.cancel();
  }

  #end(status: GrpcStatus): void {
    if (this.#isOver) return;
    this.#over();
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

  #over(): void {
    this.#isOver = true;
    this.#reader.stop();
  }

  cancel(): void {
    this.#over();
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
