import type { IncomingMessage } from "node:http";
import { badRequest, type StatusError, statusError } from "../../../staging/apimachinery/errors.js";
import { ByteCollector } from "../../../util/os/read-at-most.js";
import type { Exchange } from "./exchange.js";

/** Mirrors MaxRequestBodyBytes of k8s.io/apiserver/pkg/server/config.go: twice etcd's own limit. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;

/** Node's parser needs a microsecond for each piece of a body: a chunk, a TLS record. */
const MAX_SMALL_PIECES = 4_096;
const MIN_PIECE_BYTES = 16;

/** Whether a body arrives in so many small pieces that reading it costs seconds. */
function isCrumbled(pieces: number, length: number): boolean {
  return pieces > MAX_SMALL_PIECES + length / MIN_PIECE_BYTES;
}

/** Whether the headers of a request announce a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/**
 * Reads the whole body of a request.
 * Differs: upstream reads a body of tiny chunks, which costs Go little.
 * @throws StatusError 413 when it exceeds the limit, 400 when its pieces are tiny, 504 on timeout; an Error when the
 * client disconnects
 */
export async function readBody(exchange: Exchange, maxBytes: number = MAX_BODY_BYTES): Promise<Buffer> {
  const { request } = exchange;
  if (!hasBody(request)) return EMPTY;
  const declared = request.headers["content-length"];
  if (declared !== undefined && Number(declared) > maxBytes) throw tooLarge(maxBytes);
  // Most bodies arrive together with their headers.
  const isHere = request.complete || request.readableLength === Number(declared);
  const body = isHere && request.readableLength <= maxBytes ? readNow(request) : await readInTime(exchange, maxBytes);
  exchange.isBodyRead = true;
  exchange.bodies?.sent(body);
  return body;
}

function readNow(request: IncomingMessage): Buffer {
  const body: Buffer | null = request.read();
  request.resume();
  return body ?? EMPTY;
}

async function readInTime({ request, clock, timeoutMs }: Exchange, maxBytes: number): Promise<Buffer> {
  const waiting = new AbortController();
  const late = clock.sleep(timeoutMs, waiting.signal).then(() => {
    throw tookTooLong();
  });
  try {
    return await Promise.race([collect(request, maxBytes, waiting.signal), late]);
  } finally {
    waiting.abort();
  }
}

/** @param over aborts when the caller stops waiting for the body */
function collect(request: IncomingMessage, maxBytes: number, over: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new ByteCollector();
    let pieces = 0;
    const take = (chunk: Buffer) => {
      body.push(chunk);
      if (body.length > maxBytes) reject(tooLarge(maxBytes));
      if (isCrumbled(++pieces, body.length)) reject(badRequest(CRUMBLED));
    };
    const end = () => resolve(body.bytes());
    const leave = () => reject(new Error("the client disconnected during its request"));
    request.on("data", take).once("end", end).once("error", reject).once("aborted", leave);
    over.addEventListener(
      "abort",
      () => {
        request.off("data", take).off("end", end).off("aborted", leave);
        request.pause();
      },
      { once: true },
    );
  });
}

const EMPTY = Buffer.alloc(0);
const CRUMBLED = `the request body arrives in pieces of less than ${MIN_PIECE_BYTES} bytes on average; send larger chunks`;

function tooLarge(maxBytes: number): StatusError {
  return statusError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${maxBytes}`);
}

/** Mirrors WithTimeoutForNonLongRunningRequests in k8s.io/apiserver/pkg/server/filters/timeout.go. */
function tookTooLong(): StatusError {
  return statusError(504, "Timeout", "Timeout: request did not complete within the allotted timeout", {});
}

/** The server reads up to this much of an unwanted body before it responds, so that the client reads the response. */
const MAX_DISCARDED_BYTES = 2 * MAX_BODY_BYTES;
/** Mirrors rstAvoidanceDelay in Go's net/http. */
const MAX_DISCARDING_MS = 500;

/**
 * Reads and drops the rest of a body.
 * @returns false when it is too long, too slow or in tiny pieces; the connection cannot be used again then
 */
export function discardBody({ request, clock }: Exchange): Promise<boolean> {
  if (request.destroyed || Number(request.headers["content-length"] ?? 0) > MAX_DISCARDED_BYTES) {
    return Promise.resolve(false);
  }
  return new Promise((resolve) => {
    const waiting = new AbortController();
    let length = 0;
    let pieces = 0;
    const count = (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_DISCARDED_BYTES || isCrumbled(++pieces, length)) done(false);
    };
    const done = (isComplete: boolean) => {
      waiting.abort();
      request.off("data", count);
      if (!isComplete) request.pause();
      resolve(isComplete);
    };
    const give = () => done(false);
    request
      .on("data", count)
      .once("end", () => done(true))
      .once("error", give)
      .once("aborted", give)
      .resume();
    clock.sleep(MAX_DISCARDING_MS, waiting.signal).then(give, () => {
      // The wait was aborted: done has the result.
    });
  });
}
