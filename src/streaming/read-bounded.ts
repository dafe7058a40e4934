/** What becomes of what is too much: it is read and dropped, or nothing more is read and its source is closed. */
export type TooMuch = "drop" | "leave";

/**
 * Reads a stream that carries a short text.
 *
 * @param maxBytes no more than this is kept
 * @returns what came, and how the stream failed if it did: cut off, what came is what there is
 */
export async function readBounded(
  source: AsyncIterable<Uint8Array> | undefined,
  maxBytes: number,
  tooMuch: TooMuch = "drop",
): Promise<{ readonly bytes: Buffer; readonly failure: unknown }> {
  const pieces: Uint8Array[] = [];
  let byteCount = 0;
  let failure: unknown;
  try {
    for await (const piece of source ?? []) {
      if (byteCount < maxBytes) pieces.push(piece);
      byteCount += piece.length;
      if (byteCount >= maxBytes && tooMuch === "leave") break;
    }
  } catch (error) {
    failure = error;
  }
  return { bytes: Buffer.concat(pieces).subarray(0, maxBytes), failure };
}
