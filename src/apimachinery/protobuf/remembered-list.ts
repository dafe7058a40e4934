import { strict as assert } from "node:assert";
import type { Decode, DecodedFields, FieldTable } from "./fields.js";
import { Message } from "./message.js";
import { BYTES, Reader } from "./reader.js";
import { ItemComparison, type Roles, rolesOf } from "./same-item.js";

/** A list as it was decoded, with the place of each item in its bytes. */
interface Decoded {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly items: readonly unknown[];
  readonly value: Readonly<Record<string, unknown>>;
  /** items by a hash of their first bytes; made when order alone does not find them */
  byHash: Map<number, number> | undefined;
}

const NOTHING: Decoded = { bytes: Buffer.alloc(0), starts: [], ends: [], items: [], value: {}, byHash: undefined };
/** How many of an item's bytes its hash looks at: enough for the ID that items begin with. */
const HASHED_BYTES = 80;

/**
 * A message that is one list and is decoded again and again: an item that says the same as last time is the object of
 * last time, and a list of the same items is the list of last time. Comparing bytes is many times cheaper than decoding
 * them, and an idle node's lists never change.
 *
 * Items may come in another order each time, and so may the labels in them, as a Go program's maps give them. What is
 * decoded is shared between results: nobody may change it.
 */
export class RememberedList<F extends FieldTable> extends Message<F> {
  readonly #listName: string;
  readonly #tag: number;
  readonly #decodeItem: Decode;
  readonly #roles: Roles;
  #last = NOTHING;

  constructor(message: Message<F>) {
    super(message.name, message.fields);
    const [[name, field] = ["", undefined], ...others] = Object.entries(message.fields);
    assert.ok(field?.kind.type === "message" && field.isRepeated && others.length === 0, `${message.name} is no list`);
    this.#listName = name;
    this.#tag = (field.number << 3) | BYTES;
    this.#decodeItem = field.kind.of.decoder;
    this.#roles = rolesOf(field.kind.of.fields);
  }

  override decode(bytes: Buffer): DecodedFields<F> {
    if (!this.#last.bytes.equals(bytes) || this.#last === NOTHING) this.#last = this.#decodeList(bytes);
    return this.#last.value as DecodedFields<F>;
  }

  /** What is remembered must be its own. */
  override decodeWithin(bytes: Buffer, from: number, to: number): DecodedFields<F> {
    return this.decode(Buffer.from(bytes.subarray(from, to)));
  }

  /** These bytes stay until the next list is there. */
  override decodeAndRelease(bytes: Buffer, release: (bytes: Buffer) => void): DecodedFields<F> {
    const before = this.#last.bytes;
    const value = this.decode(bytes);
    release(this.#last.bytes === bytes ? before : bytes);
    return value;
  }

  #decodeList(bytes: Buffer): Decoded {
    const reader = new Reader(bytes);
    const end = bytes.length;
    const starts: number[] = [];
    const ends: number[] = [];
    const items: unknown[] = [];
    const memory = new Memory(this.#last, bytes, this.#roles);
    while (reader.at < end) {
      const tag = reader.uint32();
      if (tag !== this.#tag) {
        reader.skip(tag & 7);
        continue;
      }
      const length = reader.length();
      const start = reader.at;
      reader.end = start + length;
      items.push(memory.find(start, reader.end) ?? this.#decodeItem(reader, undefined));
      starts.push(start);
      ends.push(reader.end);
      reader.at = reader.end;
      reader.end = end;
    }
    const { last } = memory;
    const isSame = items.length === last.items.length && items.every((item, index) => item === last.items[index]);
    const value = isSame && last !== NOTHING ? last.value : { [this.#listName]: items };
    return { bytes, starts, ends, items, value, byHash: undefined };
  }
}

/** Finds the items of a new list in the one before. */
class Memory {
  /** where the next item was last time, if nothing has changed */
  #next = 0;
  readonly #comparison: ItemComparison;

  constructor(
    readonly last: Decoded,
    readonly bytes: Buffer,
    roles: Roles,
  ) {
    this.#comparison = new ItemComparison(roles, bytes, last.bytes);
  }

  /** The object for these bytes, if there was one. */
  find(start: number, end: number): unknown {
    const index = this.#indexOf(start, end);
    if (index === undefined) return undefined;
    this.#next = index + 1;
    return this.last.items[index];
  }

  #indexOf(start: number, end: number): number | undefined {
    if (this.last.items.length === 0) return undefined;
    // In place, or one further: after an item that has changed or is gone.
    if (this.#isAt(this.#next, start, end)) return this.#next;
    if (this.#isAt(this.#next + 1, start, end)) return this.#next + 1;
    this.last.byHash ??= hashes(this.last);
    const index = this.last.byHash.get(hash(this.bytes, start, end));
    return index !== undefined && this.#isAt(index, start, end) ? index : undefined;
  }

  #isAt(index: number, start: number, end: number): boolean {
    const from = this.last.starts[index];
    const to = this.last.ends[index];
    return from !== undefined && to !== undefined && this.#comparison.isSame(start, end, from, to);
  }
}

function hashes({ bytes, starts, ends }: Decoded): Map<number, number> {
  const found = new Map<number, number>();
  starts.forEach((start, index) => {
    found.set(hash(bytes, start, ends[index] ?? start), index);
  });
  return found;
}

/** FNV-1a. */
function hash(bytes: Buffer, start: number, end: number): number {
  let value = 0x811c9dc5;
  const stop = Math.min(end, start + HASHED_BYTES);
  for (let at = start; at < stop; at++) value = Math.imul(value ^ (bytes[at] as number), 0x01000193);
  return value;
}
