import type { ServerResponse } from "node:http";
import type { Clock } from "../../util/clock.js";
import { commonHeaders, isCompressed, writeBody } from "./answer.js";
import { drained } from "./drained.js";
import type { Exchange } from "./exchange.js";
import { JSON_TYPE } from "./media-types.js";
import type { ListText } from "./serialize.js";

/** A longer list goes out piece by piece, so that its text is never in memory as a whole, however many ask for it. */
const PIECE_BYTES = 256 * 1024;
/** So many pieces wait for the next list. */
const MAX_FREE_PIECES = 16;

/** Writes lists as compact JSON. The items are those of one moment: that others write meanwhile changes nothing. */
export class ListWriter {
  readonly #free: Buffer[] = [];

  constructor(readonly clock: Clock) {}

  async write(exchange: Exchange, { parts, bytes }: ListText): Promise<void> {
    if (bytes <= PIECE_BYTES || isCompressed(exchange, bytes)) {
      return writeBody(exchange, 200, Buffer.concat(parts, bytes), JSON_TYPE);
    }
    const { response } = exchange;
    if (response.destroyed) return;
    const headers = [...commonHeaders(exchange), "Content-Type", JSON_TYPE, "Transfer-Encoding", "chunked"];
    response.writeHead(200, headers);
    const gone = new AbortController();
    const leave = () => gone.abort();
    response.once("close", leave);
    try {
      if (await this.#writeParts(response, parts, gone.signal)) response.end();
      else response.destroy();
    } finally {
      response.off("close", leave);
    }
  }

  /** @returns false when the client is gone, or reads nothing */
  async #writeParts(response: ServerResponse, parts: readonly Buffer[], gone: AbortSignal): Promise<boolean> {
    let piece = this.#piece();
    let used = 0;
    for (const [index, part] of parts.entries()) {
      for (let copied = 0; copied < part.length; ) {
        const length = part.copy(piece, used, copied);
        copied += length;
        used += length;
        const isLast = index === parts.length - 1 && copied === part.length;
        if (used < PIECE_BYTES && !isLast) continue;
        const mustWait = !response.write(piece.subarray(0, used));
        used = 0;
        if (mustWait && !(await drained(response, this.clock, gone))) return false;
        if (gone.aborted) return false;
        // What was taken without waiting is still on its way, and must not be written over.
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
