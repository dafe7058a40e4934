import type { FieldTable } from "./fields.js";
import { Reader } from "./reader.js";

/** By field number: what a message's table makes of it. Numbers that it does not name are never decoded. */
export type Roles = readonly ("value" | "map" | undefined)[];

/** Longer maps are not matched: their messages are decoded anew. */
const MAX_ENTRIES = 31;

export function rolesOf(fields: FieldTable): Roles {
  const roles: ("value" | "map" | undefined)[] = [];
  for (const { number, kind } of Object.values(fields)) roles[number] = kind.type === "map" ? "map" : "value";
  return roles;
}

/**
 * Compares encodings of one message by what its table would decode, without decoding it: fields that the table does not
 * name may differ, and a map's entries may come in another order, as Go gives them in each time.
 *
 * A map is taken to name each key once, as every encoder writes it.
 */
export class ItemComparison {
  readonly #roles: Roles;
  readonly #one: Reader;
  readonly #other: Reader;
  readonly #bytes: Buffer;
  readonly #otherBytes: Buffer;
  /** start, end, start, end, ... of a map's entries */
  readonly #entries: number[] = [];
  readonly #otherEntries: number[] = [];

  constructor(roles: Roles, bytes: Buffer, otherBytes: Buffer) {
    this.#roles = roles;
    this.#bytes = bytes;
    this.#otherBytes = otherBytes;
    this.#one = new Reader(bytes);
    this.#other = new Reader(otherBytes);
  }

  /** @throws ProtobufError when a message is cut off */
  isSame(start: number, end: number, otherStart: number, otherEnd: number): boolean {
    const one = this.#one;
    const other = this.#other;
    one.at = start;
    one.end = end;
    other.at = otherStart;
    other.end = otherEnd;
    for (;;) {
      const tag = this.#nextTag(one);
      if (tag !== this.#nextTag(other)) return false;
      if (tag === 0) return one.at === end && other.at === otherEnd;
      if (this.#roles[tag >>> 3] === "map" ? !this.#isSameMap(tag) : !this.#isSameValue(tag)) return false;
    }
  }

  /** Steps over what is not decoded; 0 at the end, and at a tag that is none. */
  #nextTag(reader: Reader): number {
    while (reader.at < reader.end) {
      const tag = reader.uint32();
      if (tag >>> 3 === 0) return 0;
      if (this.#roles[tag >>> 3] !== undefined) return tag;
      reader.skip(tag & 7);
    }
    return 0;
  }

  #isSameValue(tag: number): boolean {
    const from = this.#one.at;
    const otherFrom = this.#other.at;
    this.#one.skip(tag & 7);
    this.#other.skip(tag & 7);
    return this.#isEqual(from, this.#one.at, otherFrom, this.#other.at);
  }

  #isSameMap(tag: number): boolean {
    gather(this.#one, tag, this.#entries);
    gather(this.#other, tag, this.#otherEntries);
    const count = this.#entries.length;
    if (count !== this.#otherEntries.length || count > 2 * MAX_ENTRIES) return false;
    let taken = 0;
    for (let i = 0; i < count; i += 2) {
      const found = this.#find(this.#entries[i] as number, this.#entries[i + 1] as number, taken);
      if (found < 0) return false;
      taken |= 1 << (found >> 1);
    }
    return true;
  }

  /** @returns where the entry is among the other's, or -1. @param taken a bit for each that was found before */
  #find(from: number, to: number, taken: number): number {
    const others = this.#otherEntries;
    for (let j = 0; j < others.length; j += 2) {
      const isTaken = (taken & (1 << (j >> 1))) !== 0;
      if (!isTaken && this.#isEqual(from, to, others[j] as number, others[j + 1] as number)) return j;
    }
    return -1;
  }

  /** A loop of our own: for so few bytes a call into the runtime costs more. */
  #isEqual(from: number, to: number, otherFrom: number, otherTo: number): boolean {
    const length = to - from;
    if (otherTo - otherFrom !== length) return false;
    const bytes = this.#bytes;
    const others = this.#otherBytes;
    // From behind: what a list's items differ in comes last, their kinds of keys first.
    for (let i = length - 1; i >= 0; i--) {
      if (bytes[from + i] !== others[otherFrom + i]) return false;
    }
    return true;
  }
}

/** The entries that stand in a row from here, the first one's tag already read. */
function gather(reader: Reader, tag: number, into: number[]): void {
  into.length = 0;
  for (;;) {
    const length = reader.length();
    into.push(reader.at, reader.at + length);
    reader.at += length;
    const next = reader.at;
    if (next >= reader.end || reader.uint32() !== tag) {
      reader.at = next;
      return;
    }
  }
}
