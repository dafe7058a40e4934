/**
 * JSON of objects, made once per object however many readers, lists and watchers ask for it.
 *
 * Stored objects never change, so their text can be kept beside them. A list shows its items without kind and apiVersion,
 * everything else shows them first: the text that is kept is that of a list.
 */
import type { KubeList, KubeObject, WatchEventType } from "../../apimachinery/api/meta.js";

interface CachedText {
  /** `{"metadata":{...},"spec":{...}}`: all but kind and apiVersion */
  readonly item: Buffer;
  /** whole lines of a watch, by event type: many watchers share one buffer */
  lines?: Map<WatchEventType, Buffer>;
}

/** The text of a list, in parts that are written one after the other. */
export interface ListText {
  readonly parts: readonly Buffer[];
  readonly bytes: number;
}

/**
 * When texts of so many bytes were made since the last turn, those that nobody asked for in the turn before are forgotten:
 * the present is listed and watched, superseded versions only wait for a watch that resumes.
 */
const TURN_BYTES = 8 * 1024 * 1024;

const COMMA = Buffer.from(",");
const LINE_FEED = Buffer.from("\n");
const END_OF_LIST = Buffer.from("]}\n");

/** An encoder belongs to one server, and what it keeps goes with it. */
export class Serializer {
  #recent = new WeakMap<KubeObject, CachedText>();
  #older = new WeakMap<KubeObject, CachedText>();
  #recentBytes = 0;
  readonly #heads = new Map<string, string>();

  constructor(readonly turnBytes = TURN_BYTES) {}

  /**
   * Compact, with the line feed at the end.
   * @param isWritten the answer to a write: if others ask for the object, they do so through a watch or a list
   */
  object(object: KubeObject, isWritten = false): Buffer | string {
    const head = this.#head(object);
    const known = this.#recent.get(object) ?? this.#older.get(object);
    if (known === undefined && isWritten) return `${wholeText(object, head)}\n`;
    return Buffer.concat([Buffer.from(head), this.#text(object).item.subarray(1), LINE_FEED]);
  }

  /** compact, with the line feed at the end */
  list(list: KubeList): ListText {
    const { kind, apiVersion, metadata } = list;
    const top = Buffer.from(`${JSON.stringify({ kind, apiVersion, metadata }).slice(0, -1)},"items":[`);
    const parts: Buffer[] = [top];
    let bytes = top.length + END_OF_LIST.length;
    for (const object of list.items) {
      if (parts.length > 1) parts.push(COMMA);
      const { item } = this.#text(object);
      parts.push(item);
      bytes += item.length;
    }
    parts.push(END_OF_LIST);
    return { parts, bytes: bytes + Math.max(0, list.items.length - 1) };
  }

  /** One line of a watch, with its line feed. */
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
    if (this.#recentBytes > this.turnBytes) {
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

/** Memory of its own: a slice of Node's pool would keep the pool's other slices, long forgotten, in memory. */
function unpooled(text: string): Buffer {
  const buffer = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  buffer.write(text);
  return buffer;
}

/** Most objects have kind and apiVersion first: then their text is made in one go. */
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
