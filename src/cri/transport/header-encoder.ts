import { encodeField, encodeInteger, fieldSize, MAX_TABLE_BYTES } from "./hpack.js";

/** The fields of a request's head, in their order. Made once for all requests of a kind: it is known again as this object. */
export type RequestHead = readonly (readonly [name: string, value: string])[];

/** RFC 7541, appendix A: so many fields both sides know from the start. */
const STATIC_FIELDS = 61;
const INDEXED = 0x80;
const REMEMBERED = 0x40;
const NO_TABLE = Buffer.from([0x20]);

interface KnownBlock {
  readonly block: Buffer;
  /** fields in the table when it was made: each one that comes later moves all the others */
  readonly tableLength: number;
}

/**
 * Encodes the heads of requests (HPACK, RFC 7541). A field is sent once and by its number from then on, which spares most of
 * all the other side: a head is a few bytes there instead of seven texts. Nothing is ever thrown out of the table; what finds
 * no room in it is sent in full each time.
 */
export class HeaderEncoder {
  /** oldest first; `name: value` */
  readonly #table: string[] = [];
  readonly #blocks = new WeakMap<RequestHead, KnownBlock>();
  #room = MAX_TABLE_BYTES;
  /** what the next block begins with */
  #tableUpdate: Buffer | undefined;

  /** How large a table the other side keeps. Smaller than usual: then it is asked for none at all. */
  limit(bytes: number): void {
    if (bytes >= MAX_TABLE_BYTES) return;
    this.#table.length = 0;
    this.#room = 0;
    this.#tableUpdate = NO_TABLE;
  }

  /** The header block of a request that is sent now: blocks must be sent in the order in which they were made. */
  block(head: RequestHead): Buffer {
    const known = this.#blocks.get(head);
    const tableLength = this.#table.length;
    if (known?.tableLength === tableLength && this.#tableUpdate === undefined) return known.block;
    const block = Buffer.concat(head.map(([name, value]) => this.#field(name, value)));
    // With a field that was new, the next block of this head is another one.
    if (this.#table.length === tableLength) this.#blocks.set(head, { block, tableLength });
    if (this.#tableUpdate === undefined) return block;
    const update = this.#tableUpdate;
    this.#tableUpdate = undefined;
    return Buffer.concat([update, block]);
  }

  #field(name: string, value: string): Buffer {
    const field = `${name}: ${value}`;
    const index = this.#table.indexOf(field);
    if (index >= 0) return encodeInteger(INDEXED, 7, STATIC_FIELDS + this.#table.length - index);
    const size = fieldSize(name, value);
    if (size > this.#room) return encodeField(name, value);
    this.#room -= size;
    this.#table.push(field);
    return encodeField(name, value, REMEMBERED);
  }
}
