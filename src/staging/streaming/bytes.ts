/**
 * Received bytes, in order. The connection is read only as fast as the consumer takes the pieces, so a slow reader
 * slows the sender down. Ends when the peer closes its side; throws StreamError if the connection breaks. Leaving the
 * loop early drops the rest.
 */
export type ByteReader = AsyncIterable<Uint8Array>;

/** Bytes to send. */
export interface ByteWriter {
  /**
   * Resolves when there is room for more; await it, or memory grows. The bytes must not change afterwards.
   * @throws StreamError if the peer no longer accepts bytes
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Closes this direction (half-close). Safe to call twice. */
  end(): Promise<void>;
}

/** Both directions of a byte stream. Each ends by itself. */
export interface ByteDuplex extends ByteWriter {
  readonly incoming: ByteReader;
}

/** A stream or connection ended early. The message comes from the peer or from this side. */
export class StreamError extends Error {
  override readonly name = "StreamError";
}
