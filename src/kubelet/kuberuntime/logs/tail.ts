/** Reads bytes of a file at a position, as a FileHandle of node:fs/promises does. */
export interface RandomReader {
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
}

/** upstream reads 1 KB at a time; a larger read costs about the same per system call */
const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/**
 * Finds where the last `lines` lines of a file begin. Reads from the end, a block at a time, so that a huge file costs
 * no more than the requested lines. A last line without a line feed does not count.
 *
 * Mirrors pkg/util/tail/tail.go (FindTailLineStartIndex).
 * @param lines undefined: all
 * @param size of the file, bytes
 * @returns an offset, bytes
 */
export async function findTailLineStart(file: RandomReader, size: number, lines: number | undefined): Promise<number> {
  if (lines === undefined) return 0;
  const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, size));
  let linesLeft = lines;
  for (let right = size; right > 0; ) {
    const left = Math.max(0, right - BLOCK_BYTES);
    const { bytesRead } = await file.read(block, 0, right - left, left);
    for (let at = lastNewline(block, bytesRead - 1); at >= 0; at = lastNewline(block, at - 1)) {
      // The line feed that ends the line before the first requested one.
      if (linesLeft === 0) return left + at + 1;
      linesLeft--;
    }
    right = left;
  }
  return 0;
}

/** @param from the last index to check; a negative one means not found (Buffer would count from its end) */
function lastNewline(block: Buffer, from: number): number {
  return from < 0 ? -1 : block.lastIndexOf(NEWLINE, from);
}
