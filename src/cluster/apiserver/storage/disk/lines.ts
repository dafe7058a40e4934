import { createReadStream } from "node:fs";

const CHUNK_BYTES = 256 * 1024;
/** More than any object that the API server takes. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** A line of a file. */
export interface Line {
  readonly offset: number;
  /** without its line feed */
  readonly bytes: Buffer;
  /** false: the file ends before a line feed, or the line is longer than any record */
  readonly isWhole: boolean;
}

/** Reads a file line by line, with one chunk and one line of it in memory. @throws the file system's error */
export async function* readLines(path: string): AsyncGenerator<Line> {
  let offset = 0;
  let pieces: Buffer[] = [];
  let pending = 0;
  const line = (last: Buffer, isWhole: boolean): Line => {
    const bytes = pieces.length === 0 ? last : Buffer.concat([...pieces, last]);
    const start = offset;
    offset += bytes.length + 1;
    pieces = [];
    pending = 0;
    return { offset: start, bytes, isWhole };
  };
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      yield line(chunk.subarray(start, end), true);
      start = end + 1;
    }
    if (start === chunk.length) continue;
    pieces.push(chunk.subarray(start));
    pending += chunk.length - start;
    if (pending <= MAX_LINE_BYTES) continue;
    yield line(Buffer.alloc(0), false);
    offset--;
  }
  if (pending > 0) yield line(Buffer.alloc(0), false);
}
