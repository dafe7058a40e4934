import type { Self } from "../../process/process.js";
import { type ByteSource, unitsOf } from "../../streams.js";

/** A value of RESP 2, Redis' protocol. A string has one character for each byte. */
export type Reply = null | number | bigint | string | { ok: string } | { error: string } | readonly Reply[];

/** The longest string: Redis' proto-max-bulk-len. Differs: 512 MB there; containers share the memory of a runtime. */
export const MAX_BULK_BYTES = 1024 * 1024;
const MAX_LINE_BYTES = 64 * 1024;
const MAX_ITEMS = 64 * 1024;
const MAX_DEPTH = 32;
/** The memory of a string or an item besides its bytes. */
export const ITEM_BYTES = 32;

/** A message that breaks the protocol. The connection ends after it. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** The bytes that an encoded reply needs at most, without building it. */
export function sizeOf(reply: Reply): number {
  if (typeof reply === "string") return reply.length + ITEM_BYTES;
  return Array.isArray(reply) ? reply.reduce((sum, one) => sum + sizeOf(one), ITEM_BYTES) : 8 * ITEM_BYTES;
}

/** A reply, or a client's command, as latin1. */
export function encode(reply: Reply): string {
  if (reply === null) return "$-1\r\n";
  if (typeof reply === "number" || typeof reply === "bigint") return `:${reply}\r\n`;
  if (typeof reply === "string") return `$${reply.length}\r\n${reply}\r\n`;
  if ("ok" in reply) return `+${reply.ok}\r\n`;
  if ("error" in reply) return `-${reply.error.replace(/[\r\n]/g, " ")}\r\n`;
  return `*${reply.length}\r\n${reply.map(encode).join("")}`;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", a: "\x07" };

/** The words of a line, with quotes. Mirrors redis' sds.c (sdssplitargs). @returns undefined for unbalanced quotes */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  const word = /\s*(?:"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'|([^\s"'][^\s"']*))(?=\s|$)/gy;
  const text = line.trimEnd();
  const unescaped = (_all: string, hex: string | undefined, letter: string) =>
    hex === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16));
  while (word.lastIndex < text.length) {
    const found = word.exec(text);
    if (found === null) return undefined;
    const [, double, single, plain = ""] = found;
    words.push(double?.replace(/\\(?:x([0-9a-f]{2})|([\s\S]))/gi, unescaped) ?? single ?? plain);
  }
  return words;
}

/** Reads a server's commands, or a client's replies. They count as memory of the process until `free`. */
export class RespReader {
  #heldBytes = 0;

  constructor(
    readonly self: Self,
    readonly source: ByteSource,
  ) {}

  /** The next message; a line of text is a list of words. @returns undefined at the end @throws ProtocolError */
  async next(depth = 0): Promise<Reply | undefined> {
    const line = await this.#line();
    const rest = line?.slice(1) ?? "";
    const count = /^-?\d+$/.test(rest) ? Number(rest) : Number.NaN;
    switch (line?.charAt(0)) {
      case undefined:
        return undefined;
      case "+":
        return { ok: rest };
      case "-":
        return { error: rest };
      case ":":
        return Number.isNaN(count) ? 0 : BigInt(rest);
      case "$":
        return count === -1 && depth === 0 ? null : this.#bulk(count);
      case "*": {
        const items: Reply[] = [];
        if (!(count <= MAX_ITEMS) || depth === MAX_DEPTH) throw new ProtocolError("invalid multibulk length");
        while (items.length < count) {
          const item = await this.next(depth + 1);
          if (item === undefined) return undefined;
          items.push(item);
        }
        return items;
      }
      default: {
        const words = depth === 0 ? splitWords(line ?? "") : undefined;
        if (words !== undefined) return words;
        throw new ProtocolError(
          depth === 0 ? "unbalanced quotes in request" : `expected '$', got '${line?.charAt(0)}'`,
        );
      }
    }
  }

  /** The messages are no longer needed. */
  free(): void {
    this.self.memory.release(this.#heldBytes);
    this.#heldBytes = 0;
  }

  #hold(bytes: number): void {
    this.self.memory.hold(bytes);
    this.#heldBytes += bytes;
  }

  async #line(): Promise<string | undefined> {
    const parts: Buffer[] = [];
    for (let length = 0; ; ) {
      const bytes = await this.source.read(this.self.signal);
      if (bytes === undefined) return undefined;
      const at = bytes.indexOf("\n");
      const part = at < 0 ? bytes : bytes.subarray(0, at);
      parts.push(part);
      length += part.length;
      if (length > MAX_LINE_BYTES) throw new ProtocolError("too big inline request");
      this.#hold(ITEM_BYTES + part.length);
      await this.self.turn(unitsOf(part.length) / 4);
      if (at < 0) continue;
      if (at + 1 < bytes.length) this.source.unread(bytes.subarray(at + 1));
      return Buffer.concat(parts).toString("latin1").replace(/\r$/, "");
    }
  }

  async #bulk(count: number): Promise<string | undefined> {
    if (!(count >= 0 && count <= MAX_BULK_BYTES)) throw new ProtocolError("invalid bulk length");
    this.#hold(count + ITEM_BYTES);
    const buffer = Buffer.alloc(count + 2);
    for (let length = 0; length < buffer.length; ) {
      const bytes = await this.source.read(this.self.signal, buffer.length - length);
      if (bytes === undefined) return undefined;
      length += bytes.copy(buffer, length);
      await this.self.turn(unitsOf(bytes.length) / 4);
    }
    return buffer.toString("latin1", 0, count);
  }
}
