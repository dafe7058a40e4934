import forge from "node-forge/lib/pem.js";

/** One block of a PEM file: `-----BEGIN <type>-----`. */
export interface PemBlock {
  /** `CERTIFICATE`, `CERTIFICATE REQUEST`, `EC PRIVATE KEY`, … */
  readonly type: string;
  readonly der: Buffer;
}

/**
 * All well-formed blocks of a text, in order. Text between them is skipped. Mirrors encoding/pem in Go.
 * Differs: node-forge calls a NEW CERTIFICATE REQUEST a CERTIFICATE REQUEST (RFC 7468).
 */
export function decodePem(text: string): PemBlock[] {
  try {
    return forge.decode(text).map(({ type, body }) => ({ type, der: Buffer.from(body, "latin1") }));
  } catch {
    return []; // node-forge throws when there is no block.
  }
}

/** Lines of 64 characters and a final newline, as Go and OpenSSL write them. */
export function encodePem(type: string, der: Buffer): string {
  return forge.encode({ type, body: der.toString("latin1") }).replace(/\r\n/g, "\n");
}
