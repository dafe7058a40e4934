import { Flag, Http2Error } from "./frames.js";
import { type Fields, HeaderDecoder } from "./hpack.js";

/** A header block that was told whole. */
export interface HeaderBlock {
  readonly stream: number;
  readonly flags: number;
  readonly fields: Fields;
}

/** What gRPC sends is some hundred bytes. */
const MAX_BLOCK_BYTES = 256 * 1024;

/** Puts together the header blocks that go on in CONTINUATION frames, and decodes each in its turn. */
export class HeaderBlocks {
  readonly #decoder = new HeaderDecoder();
  #begun: { readonly stream: number; readonly flags: number; readonly pieces: Buffer[]; bytes: number } | undefined;

  /** Between the pieces of a block no other frame may come. */
  get isWithinOne(): boolean {
    return this.#begun !== undefined;
  }

  /**
   * Takes the payload of a HEADERS or CONTINUATION frame.
   * @returns the block when this was its last piece
   * @throws Http2Error for a block that is none, or without end
   */
  add(stream: number, flags: number, piece: Buffer): HeaderBlock | undefined {
    const isEnd = (flags & Flag.END_HEADERS) !== 0;
    if (this.#begun === undefined && isEnd) return { stream, flags, fields: this.#decoder.decode(piece) };
    this.#begun ??= { stream, flags, pieces: [], bytes: 0 };
    const begun = this.#begun;
    begun.pieces.push(Buffer.from(piece));
    begun.bytes += piece.length;
    if (begun.bytes > MAX_BLOCK_BYTES) throw new Http2Error("a header block without end");
    if (!isEnd) return undefined;
    this.#begun = undefined;
    const fields = this.#decoder.decode(Buffer.concat(begun.pieces));
    return { stream: begun.stream, flags: begun.flags, fields };
  }
}
