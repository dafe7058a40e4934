/** One block of a PEM file: `-----BEGIN <type>-----`. */
export interface PemBlock {
  /** `CERTIFICATE`, `CERTIFICATE REQUEST`, `EC PRIVATE KEY`, … */
  readonly type: string;
  readonly der: Buffer;
}

const BLOCK = /-----BEGIN ([^-\r\n]+)-----[ \t]*\r?\n([\s\S]*?)-----END \1-----/g;
/** RFC 1421 headers (`Proc-Type: 4,ENCRYPTED`) stand before an empty line. */
const HEADERS = /^(?:[A-Za-z-]+: [^\n]*\n)+\r?\n/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** All well-formed blocks of a text, in order; whatever stands between them is skipped, as Go's encoding/pem does. */
export function decodePem(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (const [, type = "", body = ""] of text.matchAll(BLOCK)) {
    const base64 = body.replace(HEADERS, "").replace(/\s/g, "");
    if (BASE64.test(base64) && base64.length % 4 === 0) blocks.push({ type, der: Buffer.from(base64, "base64") });
  }
  return blocks;
}

/** Lines of 64 characters and a final newline, as Go and OpenSSL write it. */
export function encodePem(type: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${type}-----\n${lines.map((line) => `${line}\n`).join("")}-----END ${type}-----\n`;
}
