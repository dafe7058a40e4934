import { type GrpcCode, grpcCode } from "../status.js";
import type { BufferPool } from "./buffer-pool.js";
import type { ClientSession } from "./client-session.js";
import type { ClientStream, StreamEnd, StreamSink } from "./client-stream.js";
import { ErrorCode } from "./frames.js";
import type { RequestHead } from "./header-encoder.js";
import type { Fields } from "./hpack.js";
import { MessageReader, type MessageSink } from "./message-reader.js";

/** How a call ended, in gRPC's terms. */
export interface GrpcStatus {
  readonly code: GrpcCode;
  readonly message: string;
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

/**
 * One gRPC call over HTTP/2: a POST whose body is the request message, and whose answer is messages and then, in the
 * trailers, a status. Each message has five bytes before it: a flag for compression (never asked for) and its length.
 *
 * This takes what arrives and finds out how the call ended; who calls says what becomes of it.
 */
export abstract class Exchange implements StreamSink, MessageSink {
  /** Nothing more is told. */
  protected isOver = false;
  #stream: ClientStream | undefined;
  #headers: Fields | undefined;
  #trailers: Fields | undefined;
  readonly #reader: MessageReader;

  /** @param pool where the buffers of messages come from; whoever reads them gives them back */
  constructor(maxMessageBytes: number, pool: BufferPool) {
    this.#reader = new MessageReader(maxMessageBytes, pool, this);
  }

  /** The answer's head is there. */
  protected abstract opened(): void;
  /** One message, put together; the bytes are the caller's to keep. */
  abstract message(bytes: Buffer): void;
  /** One message; the bytes hold only during the call. */
  abstract messageWithin(bytes: Buffer, from: number, to: number): void;
  /** The other side, or the connection, has ended it. */
  protected abstract finish(status: GrpcStatus): void;

  /** Sends the request. @param request with its prefix */
  protected send(session: ClientSession, head: RequestHead, request: Buffer): void {
    const stream = session.request(head, request, this);
    if (!stream.isOver) this.#stream = stream;
  }

  headers(fields: Fields): void {
    if (this.#headers !== undefined) {
      this.#trailers = fields;
      return;
    }
    // 1xx: the real ones follow.
    if (fields[":status"]?.startsWith("1") === true) return;
    this.#headers = fields;
    if (!this.isOver) this.opened();
  }

  data(bytes: Buffer, from: number, to: number): void {
    this.#reader.read(bytes, from, to);
  }

  closed(how: StreamEnd): void {
    if (!this.isOver) this.finish(this.#finalStatus(how));
  }

  refused(code: GrpcCode, message: string): void {
    if (!this.isOver) this.finish({ code, message });
    this.#stream?.cancel();
  }

  /** The trailers' status; a server that refuses at once has it in its only headers. */
  #finalStatus(how: StreamEnd): GrpcStatus {
    const last = this.#trailers ?? this.#headers ?? NO_FIELDS;
    const status = last["grpc-status"];
    if (status === "0") return OK;
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

  /** Tells the other side that nobody waits any more. */
  protected cancel(): void {
    this.#reader.stop();
    this.#stream?.cancel();
  }

  /** Stops the other side from sending more than fits the window, until `resume`. */
  pause(): void {
    this.#stream?.pause();
  }

  resume(): void {
    this.#stream?.resume();
  }
}

const NO_FIELDS: Fields = {};
const OK: GrpcStatus = { code: "OK", message: "" };

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
