import type { Clock } from "../../util/clock.js";
import { commonHeaders, isCompressed, writeBody } from "./answer.js";
import { drained } from "./drained.js";
import type { Exchange } from "./exchange.js";
import { JSON_TYPE } from "./media-types.js";
import type { ListText } from "./serialize.js";

/** A longer list goes out piece by piece, so that its text is never in memory as a whole, however many ask for it. */
const PIECE_BYTES = 256 * 1024;

/** Writes a list as compact JSON. The items are those of one moment: that others write meanwhile changes nothing. */
export async function writeList(exchange: Exchange, { parts, bytes }: ListText, clock: Clock): Promise<void> {
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
    for (const piece of piecesOf(parts)) {
      if (!response.write(piece) && !(await drained(response, clock, gone.signal))) response.destroy();
      if (response.destroyed) return;
    }
    response.end();
  } finally {
    response.off("close", leave);
  }
}

/** The same bytes in buffers of about one size: each costs a frame of HTTP and records of TLS. */
function* piecesOf(parts: readonly Buffer[]): Generator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for (const part of parts) {
    waiting.push(part);
    bytes += part.length;
    if (bytes < PIECE_BYTES) continue;
    yield Buffer.concat(waiting, bytes);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes);
}
