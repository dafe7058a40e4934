/**
 * Caches the JSON of objects, so that each is encoded once for all readers, lists and watchers.
 *
 * Stored objects never change, so their text can be cached. Items of a list omit kind and apiVersion, which come first
 * everywhere else; the cache holds the text for lists.
 */
import type { KubeList, KubeObject, WatchEventType } from "../../../../staging/apimachinery/api/meta.js";
import type { Turns } from "../../../../util/async/turns.js";

interface CachedText {
  /** `{"metadata":{...},"spec":{...}}`: all fields but kind and apiVersion */
  readonly item: Buffer;
  /** complete lines of a watch by event type: watchers share one buffer */
  lines?: Map<WatchEventType, Buffer>;
}

/** The text of a list in parts, to be written in order. */
export interface ListText {
  readonly parts: readonly Buffer[];
  readonly bytes: number;
}

/**
 * After this many bytes of new text a turn ends: texts that were not used during the previous turn are dropped.
 * Current objects are listed and watched often; superseded versions only serve watches that resume.
 */
const TURN_BYTES = 8 * 1024 * 1024;
/** A turn is as long as the longest list, up to this: a list that does not fit would be encoded again for each reader. */
const MAX_TURN_BYTES = 64 * 1024 * 1024;

const COMMA = Buffer.from(",");
const LINE_FEED = Buffer.from("\n");
const END_OF_LIST = Buffer.from("]}\n");

/** Each server has its own instance, which holds the cache. */
export class Serializer {
  #recent = new WeakMap<KubeObject, CachedText>();
  #older = new WeakMap<KubeObject, CachedText>();
  #recentBytes = 0;
  #turnBytes: number;
  readonly #heads = new Map<string, string>();

  constructor(turnBytes = TURN_BYTES) {
    this.#turnBytes = turnBytes;
  }

  /**
   * Compact, ending with a line feed.
   * @param isWritten for the response to a write: the text is not cached, because later readers use a watch or a list
   */
  object(object: KubeObject, isWritten = false): Buffer | string {
    const head = this.#head(object);
    const known = this.#recent.get(object) ?? this.#older.get(object);
    if (known === undefined && isWritten) return `${wholeText(object, head)}\n`;
    return Buffer.concat([Buffer.from(head), this.#text(object).item.subarray(1), LINE_FEED]);
  }

  /**
   * Compact, ending with a line feed. Other requests have their turn between the items, whose texts may all be new.
   * @returns undefined when `isGone` becomes true
   */
  async list(list: KubeList, turns: Turns, isGone: () => boolean): Promise<ListText | undefined> {
    const { kind, apiVersion, metadata } = list;
    const top = Buffer.from(`${JSON.stringify({ kind, apiVersion, metadata }).slice(0, -1)},"items":[`);
    const parts: Buffer[] = [top];
    let bytes = top.length + END_OF_LIST.length;
    for (const object of list.items) {
      if (parts.length > 1) parts.push(COMMA);
      const { item } = this.#text(object);
      parts.push(item);
      bytes += item.length;
      const wait = turns.next();
      if (wait === undefined) continue;
      await wait;
      if (isGone()) return undefined;
    }
    parts.push(END_OF_LIST);
    this.#turnBytes = Math.max(this.#turnBytes, Math.min(bytes, MAX_TURN_BYTES));
    return { parts, bytes: bytes + Math.max(0, list.items.length - 1) };
  }

  /** One line of a watch, ending with a line feed. */
  event(type: WatchEventType, object: KubeObject): Buffer {
    const cached = this.#text(object);
    cached.lines ??= new Map();
    let line = cached.lines.get(type);
    if (line === undefined) {
      line = unpooled(`{"type":"${type}","object":${this.#head(object)}${cached.item.toString("utf8", 1)}}\n`);
      cached.lines.set(type, line);
      this.#recentBytes += line.length;
    }
    return line;
  }

  #text(object: KubeObject): CachedText {
    let cached = this.#recent.get(object);
    if (cached !== undefined) return cached;
    cached = this.#older.get(object) ?? { item: unpooled(itemText(object, this.#head(object))) };
    if (this.#recentBytes > this.#turnBytes) {
      this.#older = this.#recent;
      this.#recent = new WeakMap();
      this.#recentBytes = 0;
    }
    this.#recent.set(object, cached);
    this.#recentBytes += cached.item.length;
    return cached;
  }

  /** `{"kind":"Pod","apiVersion":"v1",` */
  #head({ kind, apiVersion }: KubeObject): string {
    const key = `${apiVersion} ${kind}`;
    let head = this.#heads.get(key);
    if (head === undefined) {
      head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
      this.#heads.set(key, head);
    }
    return head;
  }
}

/** A buffer of its own: a slice of Node's pool would keep the whole pool in memory. */
function unpooled(text: string): Buffer {
  const buffer = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  buffer.write(text);
  return buffer;
}

/** Most objects start with kind and apiVersion and are encoded in one step. */
function wholeText(object: KubeObject, head: string): string {
  const text = JSON.stringify(object);
  return text.startsWith(head) ? text : `${head}${itemTextAnyway(object).slice(1)}`;
}

function itemText(object: KubeObject, head: string): string {
  const text = JSON.stringify(object);
  return text.startsWith(head) ? `{${text.slice(head.length)}` : itemTextAnyway(object);
}

function itemTextAnyway({ kind: _kind, apiVersion: _apiVersion, ...item }: KubeObject): string {
  return JSON.stringify(item);
}
