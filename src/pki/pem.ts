/** One block of a PEM file: `-----BEGIN <type>-----`. */
export interface PemBlock {
  /** `CERTIFICATE`, `CERTIFICATE REQUEST`, `EC PRIVATE KEY`, … */
  readonly type: string;
  readonly der: Buffer;
}

const BEGIN = "-----BEGIN ";
const BEGIN_LINE = /^-----BEGIN ([^-\r\n]+)-----[ \t]*\r?\n/;
const MAX_LINE_LENGTH = 256;
const END = "-----END ";
/** RFC 1421 headers (`Proc-Type: 4,ENCRYPTED`) stand before an empty line. */
const HEADERS = /^(?:[A-Za-z-]+: [^\n]*\n)+\r?\n/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * All well-formed blocks of a text, in order; whatever stands between them is skipped, as Go's encoding/pem does.
 * A block ends at the first END after it, so that each part of the text is searched once, whoever wrote it.
 */
export function decodePem(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  let end = 0;
  for (let begin = text.indexOf(BEGIN); begin >= 0; ) {
    const line = BEGIN_LINE.exec(text.slice(begin, begin + MAX_LINE_LENGTH));
    let next = begin + BEGIN.length;
    if (line !== null) {
      const start = begin + line[0].length;
      if (end < start) end = text.indexOf(END, start);
      if (end < 0) break;
      const endLine = `${END}${line[1]}-----`;
      if (text.startsWith(endLine, end)) {
        const base64 = text.slice(start, end).replace(HEADERS, "").replace(/\s/g, "");
        const isWhole = BASE64.test(base64) && base64.length % 4 === 0;
        if (isWhole) blocks.push({ type: line[1] ?? "", der: Buffer.from(base64, "base64") });
        next = end + endLine.length;
      }
    }
    begin = text.indexOf(BEGIN, next);
  }
  return blocks;
}

/** Lines of 64 characters and a final newline, as Go and OpenSSL write it. */
export function encodePem(type: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${type}-----\n${lines.map((line) => `${line}\n`).join("")}-----END ${type}-----\n`;
}
