import { elsewhere } from "../../../../util/os/event-loop.js";
/** Writes responses. Mirrors k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go. */

import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Status } from "../../../../staging/apimachinery/api/meta.js";
import { StatusError, statusError } from "../../../../staging/apimachinery/errors.js";
import type { Upstream } from "../../../../trace/events.js";
import { messageOf } from "../../../../util/errors.js";
import type { Stage } from "../../registry/rest/stages.js";
import type { Exchange } from "../exchange.js";
import { JSON_TYPE, negotiateForError, PROTOBUF_TYPE, YAML_TYPE } from "../media-types.js";
import { discardBody } from "../read-body.js";
import { warningHeaders } from "./warnings.js";

/**
 * Go's net/http sends a Content-Length for bodies that fit its first buffer, and chunks for longer ones.
 * Differs: upstream's objects carry managedFields, so some bodies that have a length here are chunked upstream.
 */
const CHUNKED_ABOVE_BYTES = 2048;
/** Upstream compresses bodies of at least this size when the client accepts gzip. */
const GZIP_ABOVE_BYTES = 128 * 1024;

const WRITE_OBJECT = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go",
  func: "WriteObjectNegotiated",
};

const PATH_HANDLER = {
  file: "staging/src/k8s.io/apiserver/pkg/server/mux/pathrecorder.go",
  func: "pathHandler.ServeHTTP",
};

const gzipAsync = promisify(gzip);

export interface ValueOptions {
  /** default JSON */
  readonly mediaType?: string;
  readonly pretty?: boolean;
  /** the value's compact JSON with its line feed, if it is already encoded */
  readonly compact?: Buffer | string;
  /** a flat list of names and values */
  readonly headers?: readonly string[];
}

export interface BodyOptions {
  /** a flat list of names and values */
  readonly headers?: readonly string[];
  /** the length that decides between Content-Length and chunks; default: the body's. 0: always Content-Length */
  readonly framedBytes?: number;
  /** what writes the body whatever the client accepts; default: it is in a format that the client accepts */
  readonly writer?: Upstream;
}

/** Writes a complete body. */
export async function writeBody(
  exchange: Exchange,
  code: number,
  body: string | Buffer,
  contentType: string | undefined,
  { headers = [], framedBytes, writer }: BodyOptions = {},
): Promise<void> {
  const { response, request } = exchange;
  exchange.bodies?.got(body);
  // An unread request body leaves the connection in the middle of a message.
  if (!exchange.isBodyRead && !request.complete && !(await discardBody(exchange))) response.shouldKeepAlive = false;
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  let isChunked = (framedBytes ?? length) > CHUNKED_ABOVE_BYTES;
  const all = commonHeaders(exchange);
  if (contentType !== undefined) all.push("Content-Type", contentType);
  all.push(...headers);
  if (isCompressed(exchange, length)) {
    body = await elsewhere(gzipAsync(body, { level: 1 }));
    isChunked = true;
    all.push(...gzipHeaders(exchange));
  }
  if (isChunked) all.push("Transfer-Encoding", "chunked");
  else all.push("Content-Length", String(length));
  if (response.destroyed || response.headersSent) return;
  exchange.report?.(answerStage(exchange, code, length, contentType, writer));
  response.writeHead(code, all);
  response.end(body);
}

/** What a response is, for the trace. @param bytes before compression */
export function answerStage(
  { accept, warnings }: Exchange,
  code: number,
  bytes: number,
  contentType = "nothing",
  writer?: Upstream,
): Stage {
  const warned = warnings.length === 0 ? "" : `; Warning: ${warnings.join("; ")}`;
  return {
    what: `answer ${code}: ${bytes} bytes of ${contentType}`,
    why: `${formatReason(accept, writer)}${warned}`,
    upstream: writer ?? WRITE_OBJECT,
  };
}

function formatReason(accept: string | undefined, writer: Upstream | undefined): string {
  if (writer !== undefined) return "this path has one format, whatever the client accepts";
  return accept === undefined ? "the client names no format" : `Accept: ${accept}`;
}

/** The headers that every response has, as a flat list. */
export function commonHeaders(exchange: Exchange): string[] {
  const headers = ["Audit-Id", exchange.auditId, "Cache-Control", exchange.cacheControl];
  // Set explicitly, so that Node does not add its own Keep-Alive header.
  headers.push("Connection", exchange.response.shouldKeepAlive ? "keep-alive" : "close");
  for (const value of exchange.vary) headers.push("Vary", value);
  if (exchange.warnings.length > 0)
    for (const value of warningHeaders(exchange.warnings)) headers.push("Warning", value);
  return headers;
}

/** Reports whether a body of this size is compressed for this client. */
export function isCompressed(exchange: Exchange, bytes: number): boolean {
  return bytes > GZIP_ABOVE_BYTES && acceptsGzip(exchange);
}

/** As a flat list. */
export function gzipHeaders({ vary }: Exchange): readonly string[] {
  return ["Content-Encoding", "gzip", ...(vary.length === 0 ? ["Vary", "Accept-Encoding"] : [])];
}

function acceptsGzip(exchange: Exchange): boolean {
  const accepted = exchange.request.headers["accept-encoding"];
  return exchange.method === "GET" && typeof accepted === "string" && accepted.includes("gzip");
}

/** Encodes a value as JSON, YAML or protobuf. */
export async function writeValue(
  exchange: Exchange,
  code: number,
  value: unknown,
  options: ValueOptions = {},
): Promise<void> {
  const { body, mediaType } = await encode(exchange, value, options);
  if (mediaType !== JSON_TYPE) exchange.bodies?.got(body, value);
  await writeBody(exchange, code, body, mediaType, {
    ...(options.headers === undefined ? {} : { headers: options.headers }),
  });
}

async function encode(
  exchange: Exchange,
  value: unknown,
  { mediaType = JSON_TYPE, pretty = exchange.isPretty, compact }: ValueOptions,
): Promise<{ readonly body: string | Buffer; readonly mediaType: string }> {
  if (compact !== undefined) return { body: compact, mediaType: JSON_TYPE };
  if (mediaType === YAML_TYPE) {
    const { toYaml } = await import("../yaml.js");
    return { body: toYaml(value), mediaType };
  }
  if (mediaType === PROTOBUF_TYPE && typeof value === "object" && value !== null) {
    const { encodeProtobuf } = await import("../../../../staging/apimachinery/scheme/protobuf/envelope.js");
    const body = encodeProtobuf(value);
    // Differs: values without a protobuf form here (discovery) are sent as JSON.
    if (body !== undefined) return { body, mediaType };
  }
  const body = pretty ? JSON.stringify(value, null, 2) : `${JSON.stringify(value)}\n`;
  return { body, mediaType: JSON_TYPE };
}

/** Writes a plain-text error such as `404 page not found`. Mirrors net/http's Error. */
export async function writeText(exchange: Exchange, code: number, text: string, writer: Upstream): Promise<void> {
  const headers = ["X-Content-Type-Options", "nosniff"];
  await writeBody(exchange, code, text, "text/plain; charset=utf-8", { headers, writer });
}

/** Writes the plain-text 404 for paths outside the API. */
export function writePageNotFound(exchange: Exchange): Promise<void> {
  return writeText(exchange, 404, "404 page not found\n", PATH_HANDLER);
}

/** @param headers additional ones, as a flat list of names and values */
export async function writeStatus(
  exchange: Exchange,
  status: Status & { readonly code: number },
  headers: readonly string[] = [],
): Promise<void> {
  const { mediaType } = negotiateForError(exchange.accept);
  const retryAfter = status.details?.retryAfterSeconds;
  if (retryAfter !== undefined) headers = [...headers, "Retry-After", String(retryAfter)];
  await writeValue(exchange, status.code, status, { mediaType, headers });
}

/** Converts any thrown value to a Status; anything but a StatusError becomes an internal error. */
export function asStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  const message = messageOf(error);
  return statusError(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });
}
