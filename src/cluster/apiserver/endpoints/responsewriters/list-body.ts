import type { Writable } from "node:stream";
import { createGzip } from "node:zlib";
import type { Clock } from "../../../../util/clock.js";
import type { Exchange } from "../exchange.js";
import { JSON_TYPE } from "../media-types.js";
import { answerStage, commonHeaders, gzipHeaders, isCompressed, writeBody } from "./answer.js";
import { drained } from "./drained.js";
import type { ListText } from "./serialize.js";

/** Longer lists are written in pieces, so that memory never holds their whole text once per reader. */
const PIECE_BYTES = 256 * 1024;
/** The number of buffers kept for the next list. */
const MAX_FREE_PIECES = 16;

/** Writes encoded lists. The items belong to one revision; concurrent writes do not change them. */
export class ListWriter {
  readonly #free: Buffer[] = [];

  constructor(readonly clock: Clock) {}

  async write(exchange: Exchange, { parts, bytes }: ListText, type = JSON_TYPE): Promise<void> {
    if (bytes <= PIECE_BYTES) return writeBody(exchange, 200, Buffer.concat(parts, bytes), type);
    const { response } = exchange;
    if (response.destroyed) return;
    const gzip = isCompressed(exchange, bytes) ? createGzip({ level: 1 }) : undefined;
    const headers = [...commonHeaders(exchange), "Content-Type", type, "Transfer-Encoding", "chunked"];
    if (gzip !== undefined) headers.push(...gzipHeaders(exchange));
    exchange.report?.(answerStage(exchange, 200, bytes, type));
    response.writeHead(200, headers);
    const gone = new AbortController();
    const leave = () => gone.abort();
    response.once("close", leave);
    gzip?.pipe(response);
    const out = gzip ?? response;
    try {
      if (await this.#writeParts(out, parts, gone.signal)) out.end();
      else for (const one of [response, out]) one.destroy();
    } finally {
      response.off("close", leave);
    }
  }

  /** @returns false when the client disconnected or stopped reading */
  async #writeParts(out: Writable, parts: readonly Buffer[], gone: AbortSignal): Promise<boolean> {
    let piece = this.#piece();
    let used = 0;
    for (const [index, part] of parts.entries()) {
      for (let copied = 0; copied < part.length; ) {
        const length = part.copy(piece, used, copied);
        copied += length;
        used += length;
        const isLast = index === parts.length - 1 && copied === part.length;
        if (used < PIECE_BYTES && !isLast) continue;
        const mustWait = !out.write(piece.subarray(0, used));
        used = 0;
        if (mustWait && !(await drained(out, this.clock, gone))) return false;
        if (gone.aborted) return false;
        // Node may still be sending this buffer, so it cannot be reused.
        if (!mustWait) piece = this.#piece();
      }
    }
    if (this.#free.length < MAX_FREE_PIECES) this.#free.push(piece);
    return true;
  }

  #piece(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES);
  }
}
