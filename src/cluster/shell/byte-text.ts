import { isUtf8 } from "node:buffer";

/** A lone surrogate that represents byte 0, because no valid text contains it. */
const RAW = 0xdc00;

/** A character of several bytes in UTF-8, or a byte that belongs to none. */
const CHARACTER =
  /[\xc2-\xdf][\x80-\xbf]|(?:\xe0[\xa0-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]|\xed[\x80-\x9f])[\x80-\xbf]|(?:\xf0[\x90-\xbf]|[\xf1-\xf3][\x80-\xbf]|\xf4[\x80-\x8f])[\x80-\xbf]{2}|[\x80-\xff]/g;

/** A byte of a shell's word: above ASCII a lone surrogate, because it may form a character with its neighbours. */
export function byteText(byte: number): string {
  return String.fromCharCode(byte < 0x80 ? byte : RAW + byte);
}

/** A shell's word of these bytes. Those that are not UTF-8 are kept for `encodeText`. */
export function decodeText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  return bytes
    .toString("latin1")
    .replace(CHARACTER, (one) =>
      one.length === 1 ? byteText(one.charCodeAt(0)) : Buffer.from(one, "latin1").toString(),
    );
}

/** The bytes of a word, including those of `byteText`. */
export function encodeText(text: string): Buffer {
  if (!/[\udc80-\udcff]/u.test(text)) return Buffer.from(text);
  const parts = text.split(/([\udc80-\udcff])/u);
  return Buffer.concat(parts.map((part, i) => (i % 2 === 1 ? Buffer.of(part.charCodeAt(0) - RAW) : Buffer.from(part))));
}
