import { byteText } from "../byte-text.js";

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

/**
 * Replaces `\n`, `\0101`, `\x41` and the like by their characters. A byte above ASCII becomes a lone surrogate for
 * `encodeText`, because it may form a character with its neighbours.
 */
export function unescapeText(text: string): string {
  return text.replace(/\\(0[0-7]{0,3}|[1-7][0-7]{0,2}|x[0-9a-fA-F]{1,2}|.)/gs, (whole, code: string) => {
    if (/^[0-7]/.test(code)) return byteText(Number.parseInt(code, 8) & 0xff);
    if (code.length > 1) return byteText(Number.parseInt(code.slice(1), 16));
    return ESCAPES[code] ?? whole;
  });
}
