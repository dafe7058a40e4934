import { Flag, Http2Error } from "./frames.js";
import { type Fields, HeaderDecoder } from "./hpack.js";

/** What gRPC sends is some hundred bytes. */
const MAX_BLOCK_BYTES = 256 * 1024;

/** Puts together the header blocks that go on in CONTINUATION frames, and decodes each in its turn. */
export class HeaderBlocks {
  readonly #decoder = new HeaderDecoder();
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  /** Between the pieces of a block no other frame may come. */
  isWithinOne = false;
  /** of the frame that this block, or the last one, began with */
  stream = 0;
  flags = 0;

  /**
   * Takes the payload of a HEADERS or CONTINUATION frame.
   * @returns the block's fields when this was its last piece
   * @throws Http2Error for a block that is none, or without end
   */
  add(stream: number, flags: number, bytes: Buffer, from: number, to: number): Fields | undefined {
    const isEnd = (flags & Flag.END_HEADERS) !== 0;
    if (!this.isWithinOne) {
      this.stream = stream;
      this.flags = flags;
      if (isEnd) return this.#decoder.decode(bytes, from, to);
    }
    this.isWithinOne = !isEnd;
    this.#pieces.push(Buffer.from(bytes.subarray(from, to)));
    this.#bytes += to - from;
    if (this.#bytes > MAX_BLOCK_BYTES) throw new Http2Error("a header block without end");
    if (!isEnd) return undefined;
    const block = Buffer.concat(this.#pieces);
    this.#pieces.length = 0;
    this.#bytes = 0;
    return this.#decoder.decode(block);
  }
}
