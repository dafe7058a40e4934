import type { ByteReader } from "../bytes.js";

/**
 * Reads a stream that carries a short text to its end.
 *
 * @param maxBytes what comes above it is dropped
 * @returns what came, and how the stream failed if it did
 */
export async function readBounded(
  reader: ByteReader | undefined,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly failure: unknown }> {
  const pieces: Uint8Array[] = [];
  let byteCount = 0;
  let failure: unknown;
  try {
    for await (const piece of reader ?? []) {
      if (byteCount >= maxBytes) continue;
      pieces.push(piece);
      byteCount += piece.length;
    }
  } catch (error) {
    failure = error;
  }
  return { bytes: Buffer.concat(pieces).subarray(0, maxBytes), failure };
}
