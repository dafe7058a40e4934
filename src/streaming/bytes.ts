/**
 * Bytes that arrive, in order. The next piece is asked of the connection only after the last was taken: whoever reads
 * slowly slows the sender down. Ends when the peer has closed its side; throws StreamError when the connection broke.
 * Leaving the loop early means that nothing more is wanted: what still comes is dropped.
 */
export type ByteReader = AsyncIterable<Uint8Array>;

/** Bytes to send. */
export interface ByteWriter {
  /**
   * Resolves when there is room for more: await it, or memory grows. The bytes must not be changed afterwards.
   * @throws StreamError when the peer cannot take them any more
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Closes this direction (half-close). Safe to call twice. */
  end(): Promise<void>;
}

/** Both directions of one byte stream, each of which ends by itself. */
export interface ByteDuplex extends ByteWriter {
  readonly incoming: ByteReader;
}

/** Why a stream or its connection ended before its time: in the words that the peer, or this side, gave. */
export class StreamError extends Error {
  override readonly name = "StreamError";
}
