import { BLOCK_BYTES, FLAGS, padding, parseHead, paxRecords, type TarEntry, TarError } from "./format.js";

/** Longer names and records than this are none that a file system would take. */
const MAX_META_BYTES = 1024 * 1024;

/** Reads an archive as it comes: heads, and the content of each entry in pieces. */
export class TarReader {
  #rest: Buffer = Buffer.alloc(0);
  readonly #source: AsyncIterator<Buffer>;
  /** content, and what fills its last block, that was not read */
  #unread = 0;
  #unreadPadding = 0;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** The next entry; what is left of the one before is passed over. @returns undefined at the end @throws TarError */
  async next(): Promise<TarEntry | undefined> {
    let name: string | undefined;
    let target: string | undefined;
    let pax: ReadonlyMap<string, string> = new Map();
    for (;;) {
      for await (const _piece of this.content()) {
        // Nobody wanted it.
      }
      const block = await this.#take(BLOCK_BYTES);
      if (block === undefined) throw new TarError("short read");
      const head = parseHead(block);
      if (head === undefined) return this.#end();
      const { flag, entry } = head;
      this.#unread = entry.size;
      this.#unreadPadding = padding(entry.size).length;
      if (flag === FLAGS.longName) name = cString(await this.#meta(entry.size));
      else if (flag === FLAGS.longTarget) target = cString(await this.#meta(entry.size));
      else if (flag === FLAGS.pax) pax = paxRecords(await this.#meta(entry.size));
      else if (flag === FLAGS.globalPax) await this.#meta(entry.size);
      else return this.#changed(entry, name ?? pax.get("path"), target ?? pax.get("linkpath"), pax);
    }
  }

  #changed(
    entry: TarEntry,
    name: string | undefined,
    target: string | undefined,
    pax: ReadonlyMap<string, string>,
  ): TarEntry {
    const size = pax.has("size") && entry.type === "file" ? Number(pax.get("size")) : entry.size;
    const mtime = Number(pax.get("mtime"));
    if (!Number.isSafeInteger(size) || size < 0) throw new TarError("invalid tar header");
    this.#unread = size;
    this.#unreadPadding = padding(size).length;
    return {
      ...entry,
      size,
      ...(name === undefined ? {} : { name }),
      ...(target === undefined ? {} : { target }),
      ...(pax.has("mtime") && Number.isFinite(mtime) ? { mtimeMs: mtime * 1000 } : {}),
    };
  }

  /** What the present entry contains, once. @throws TarError when the archive ends before */
  async *content(): AsyncGenerator<Buffer> {
    while (this.#unread > 0) {
      if (this.#rest.length === 0 && !(await this.#more())) throw new TarError("short read");
      const piece = this.#rest.subarray(0, this.#unread);
      this.#rest = this.#rest.subarray(piece.length);
      this.#unread -= piece.length;
      yield piece;
    }
    const fill = this.#unreadPadding;
    this.#unreadPadding = 0;
    if (fill > 0 && (await this.#take(fill)) === undefined) throw new TarError("short read");
  }

  async #meta(size: number): Promise<Buffer> {
    if (size > MAX_META_BYTES) throw new TarError("invalid tar header");
    const parts: Buffer[] = [];
    for await (const piece of this.content()) parts.push(piece);
    return Buffer.concat(parts);
  }

  /** Reads on to the source's end: whoever writes the archive fills it up with zeros and must not find nobody there. */
  async #end(): Promise<undefined> {
    this.#rest = Buffer.alloc(0);
    while (await this.#more()) this.#rest = Buffer.alloc(0);
  }

  async #take(count: number): Promise<Buffer | undefined> {
    while (this.#rest.length < count) if (!(await this.#more())) return undefined;
    const taken = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return taken;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#source.next();
    if (done === true) return false;
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
    return true;
  }
}

function cString(content: Buffer): string {
  const end = content.indexOf(0);
  return content.toString("utf8", 0, end < 0 ? content.length : end);
}
