const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * The canonical base64 form of the encoded bytes: without line breaks, unused bits zero.
 * @returns undefined for invalid base64
 */
export function canonicalBase64(text: string): string | undefined {
  const plain = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, "") : text;
  if (plain.length % 4 !== 0 || !BASE64.test(plain)) return undefined;
  if (!plain.endsWith("=")) return plain;
  return plain.slice(0, -4) + Buffer.from(plain.slice(-4), "base64").toString("base64");
}

/**
 * Words the error of an invalid base64 text.
 *
 * Mirrors CorruptInputError in Go's encoding/base64.
 * Differs: always names the first character outside the alphabet, or the last group of four.
 */
export function base64Error(text: string): string {
  const at = text.search(/[^A-Za-z0-9+/\r\n]/);
  return `illegal base64 data at input byte ${at >= 0 ? at : text.length - (text.length % 4)}`;
}
