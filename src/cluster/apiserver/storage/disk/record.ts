import { crc32 } from "node:zlib";

/** Eight hexadecimal digits and a space. */
const HEAD_BYTES = 9;
const SPACE = 0x20;
const LINE_FEED = 0x0a;

/** A line of a log or a snapshot: the CRC-32 of its JSON, a space, the JSON, a line feed. JSON has neither line feeds nor NULs. */
export function encodeRecord(json: string): Buffer {
  const size = Buffer.byteLength(json);
  const line = Buffer.allocUnsafe(HEAD_BYTES + size + 1);
  line.write(json, HEAD_BYTES);
  const checksum = crc32(line.subarray(HEAD_BYTES, HEAD_BYTES + size));
  line.write(`${checksum.toString(16).padStart(8, "0")} `, 0, "latin1");
  line[HEAD_BYTES + size] = LINE_FEED;
  return line;
}

/** @param line without its line feed @returns undefined if the checksum is not that of the rest */
export function decodeRecord(line: Buffer): Readonly<Record<string, unknown>> | undefined {
  if (line.length <= HEAD_BYTES || line[HEAD_BYTES - 1] !== SPACE) return undefined;
  const json = line.subarray(HEAD_BYTES);
  if (line.toString("latin1", 0, HEAD_BYTES - 1) !== crc32(json).toString(16).padStart(8, "0")) return undefined;
  return JSON.parse(json.toString());
}
