/** What happens to bytes beyond the limit: they are read and dropped, or reading stops and the source closes. */
export type TooMuch = "drop" | "leave";

/**
 * Reads a stream with a short text.
 *
 * @param maxBytes the most to keep
 * @returns the bytes, and the stream's error if it failed; the bytes before an error are kept
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
