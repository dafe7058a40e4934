import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Writable } from "node:stream";

/** Header fields that HTTP/2 does not have, because a connection is shared and frames have lengths. */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set(["connection", "transfer-encoding", "keep-alive", "upgrade"]);

/** The response to an HTTP/2 stream, with the part of `ServerResponse` that handlers use. */
export class Http2Response extends Writable {
  statusCode = 200;
  /** HTTP/1.1's; with HTTP/2 a connection survives any stream */
  shouldKeepAlive = true;

  constructor(readonly stream: ServerHttp2Stream) {
    // The stream buffers what the client has not read.
    super({ highWaterMark: stream.writableHighWaterMark, decodeStrings: false });
    stream.once("close", () => this.destroy());
    this.on("error", () => {});
  }

  get headersSent(): boolean {
    return this.stream.headersSent;
  }

  /** @param headers a flat list of names and values */
  writeHead(statusCode: number, headers: readonly string[] = []): this {
    this.statusCode = statusCode;
    if (this.stream.destroyed || this.stream.closed) return this;
    this.stream.respond({ ":status": statusCode, ...fields(headers) });
    return this;
  }

  flushHeaders(): void {
    if (!this.headersSent) this.writeHead(this.statusCode);
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.flushHeaders();
    // Node ends the stream with the headers of a response that has no body: to HEAD, 204, 304.
    if (this.stream.writableEnded) done();
    else this.stream.write(chunk, encoding, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.flushHeaders();
    if (this.stream.writableEnded) done();
    else this.stream.end(done);
  }

  /** A response that is not complete must not look complete. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.writableFinished && !this.stream.closed) this.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    done(error);
  }
}

function fields(flat: readonly string[]): OutgoingHttpHeaders {
  const all: Record<string, string | string[]> = {};
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const name = (flat[i] ?? "").toLowerCase();
    const value = flat[i + 1] ?? "";
    if (CONNECTION_FIELDS.has(name)) continue;
    const before = all[name];
    all[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return all;
}
