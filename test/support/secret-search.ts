import { randomBytes } from "node:crypto";

/** A value that occurs nowhere by chance, with characters that JSON, URLs and base64 write differently. */
export function randomSecret(): string {
  return `s3cr"t/${randomBytes(12).toString("hex")}+?`;
}

/** Which forms of a secret a text contains: the value, its middle, and base64 of it at each of the three alignments. */
export function formsFound(text: string, secret: string): readonly string[] {
  // The middle has no characters that are escaped.
  const middle = secret.slice(8, -2);
  const found = text.includes(middle) ? ["the value"] : [];
  for (const before of ["", "x", "xy"]) {
    const whole = Buffer.from(`${before}${middle}`).toString("base64");
    // Without the characters that also depend on neighbours.
    const own = whole.slice(before.length === 0 ? 0 : before.length + 1, -4);
    if (text.includes(own)) found.push(`base64 after ${before.length} bytes`);
  }
  return found;
}
