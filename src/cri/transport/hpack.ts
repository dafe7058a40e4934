import { Http2Error } from "./frames.js";
import { decodeHuffman } from "./huffman.js";

/** Header fields by name, lower case. Of a name that comes twice the last value stays: gRPC sends each once. */
export type Fields = Readonly<Record<string, string>>;

/** RFC 7541, appendix A: the header fields that both sides know from the start; `name=value`. */
const STATIC_TABLE =
  ":authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204|:status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|content-encoding|content-language|content-length|content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate"
    .split("|")
    .map((row): Field => {
      const [name = "", value = ""] = row.split("=");
      return [name, value];
    });

type Field = readonly [name: string, value: string];

/** What RFC 7541 adds to the length of a name and its value to count an entry's size. */
const ENTRY_OVERHEAD = 32;
/** Blocks up to this length are known again, which are numbers of fields that were sent before. */
const MAX_KNOWN_BYTES = 3;
const MAX_KNOWN = 64;
/** How large a table both sides keep as long as nobody says otherwise. */
export const MAX_TABLE_BYTES = 4096;

/**
 * Decodes header blocks (HPACK, RFC 7541). Both sides of a connection keep a table of fields sent before, so every block
 * must be decoded, and in order, also those of calls that nobody waits for any more.
 */
export class HeaderDecoder {
  /** newest last */
  readonly #table: Field[] = [];
  #size = 0;
  #maxSize = MAX_TABLE_BYTES;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  /** what short blocks said, by their bytes: the same few come with every answer; a field that is remembered changes all */
  readonly #known = new Map<number, Fields>();
  /** The table has, since the last block of those began. */
  #hasChanged = false;

  /** @throws Http2Error for a block that is none: the connection is of no use any more */
  decode(block: Buffer, from = 0, to = block.length): Fields {
    if (to - from > MAX_KNOWN_BYTES) return this.#decode(block, from, to);
    let key = to - from;
    for (let at = from; at < to; at++) key = key * 256 + (block[at] as number);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#hasChanged = false;
    const fields = this.#decode(block, from, to);
    if (!this.#hasChanged && this.#known.size < MAX_KNOWN) this.#known.set(key, fields);
    return fields;
  }

  #decode(block: Buffer, from: number, to: number): Fields {
    this.#bytes = block;
    this.#at = from;
    this.#end = to;
    const fields: Record<string, string> = {};
    while (this.#at < to) {
      const first = block[this.#at] as number;
      if ((first & 0xe0) === 0x20) {
        this.#resize(this.#integer(5));
        continue;
      }
      const [name, value] = first >= 0x80 ? this.#field(this.#integer(7)) : this.#literal(first);
      fields[name] = value;
    }
    return fields;
  }

  #literal(first: number): Field {
    const isRemembered = (first & 0x40) !== 0;
    const index = this.#integer(isRemembered ? 6 : 4);
    const name = index === 0 ? this.#text() : this.#field(index)[0];
    const field: Field = [name, this.#text()];
    if (isRemembered) this.#remember(field);
    return field;
  }

  #field(index: number): Field {
    const field =
      index <= STATIC_TABLE.length
        ? STATIC_TABLE[index - 1]
        : this.#table[this.#table.length + STATIC_TABLE.length - index];
    if (field === undefined) throw new Http2Error(`no header field ${index}`);
    return field;
  }

  #remember(field: Field): void {
    this.#table.push(field);
    this.#size += sizeOf(field);
    this.#evict();
  }

  #resize(maxSize: number): void {
    if (maxSize > MAX_TABLE_BYTES) throw new Http2Error("header table larger than was agreed");
    this.#maxSize = maxSize;
    this.#evict();
  }

  #evict(): void {
    this.#hasChanged = true;
    this.#known.clear();
    while (this.#size > this.#maxSize) {
      const oldest = this.#table.shift();
      this.#size -= oldest === undefined ? this.#size : sizeOf(oldest);
    }
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new Http2Error("header block ends too early");
    return this.#bytes[this.#at++] as number;
  }

  /** An integer that begins in the low bits of a byte and goes on, where it does not fit, seven bits a byte. */
  #integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      if (shift > 21) throw new Http2Error("header integer too large");
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  #text(): string {
    const isHuffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#integer(7);
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#end) throw new Http2Error("header block ends too early");
    const raw = this.#bytes.subarray(start, this.#at);
    return isHuffman ? decodeHuffman(raw) : raw.toString("latin1");
  }
}

function sizeOf([name, value]: Field): number {
  return fieldSize(name, value);
}

/** What a field takes of the table. */
export function fieldSize(name: string, value: string): number {
  return name.length + value.length + ENTRY_OVERHEAD;
}

/**
 * One field in full, never compressed.
 * @param kind 0x40: the other side remembers it; 0: it does not, so the same field has the same bytes each time
 */
export function encodeField(name: string, value: string, kind = 0): Buffer {
  const nameBytes = Buffer.from(name, "latin1");
  const valueBytes = Buffer.from(value, "latin1");
  return Buffer.concat([
    Buffer.from([kind]),
    encodeInteger(0, 7, nameBytes.length),
    nameBytes,
    encodeInteger(0, 7, valueBytes.length),
    valueBytes,
  ]);
}

/** An integer in the low bits of a byte, whose other bits are `flags`, and where it does not fit in more bytes. */
export function encodeInteger(flags: number, prefixBits: number, value: number): Buffer {
  const mask = (1 << prefixBits) - 1;
  if (value < mask) return Buffer.from([flags | value]);
  const bytes = [flags | mask];
  let rest = value - mask;
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}
