/**
 * JSON of objects, made once per object however many readers, lists and watchers ask for it.
 *
 * Stored objects never change, so their text can be kept beside them for as long as they live. A list shows its items
 * without kind and apiVersion, everything else shows them first: the text that is kept is what follows them.
 */
import type { KubeList, KubeObject, WatchEventType } from "../../api/meta.js";

interface CachedText {
  /** `"metadata":{...},"spec":{...}}`: all but kind and apiVersion */
  readonly rest: string;
  /** whole lines of a watch, by event type: many watchers share one buffer */
  lines?: Map<WatchEventType, Buffer>;
}

/** An encoder belongs to one server, and what it keeps goes with it. */
export class Serializer {
  readonly #texts = new WeakMap<object, CachedText>();

  /** compact, without the line feed at the end */
  object(object: KubeObject): string {
    return `${head(object)}${this.#text(object).rest}`;
  }

  list(list: KubeList): string {
    const items: string[] = new Array(list.items.length);
    for (let i = 0; i < list.items.length; i++) {
      const item = list.items[i];
      items[i] = item === undefined ? "null" : `{${this.#text(item).rest}`;
    }
    const { kind, apiVersion, metadata } = list;
    const top = JSON.stringify({ kind, apiVersion, metadata });
    return `${top.slice(0, -1)},"items":[${items.join(",")}]}`;
  }

  /** One line of a watch, with its line feed. */
  event(type: WatchEventType, object: KubeObject): Buffer {
    const cached = this.#text(object);
    cached.lines ??= new Map();
    let line = cached.lines.get(type);
    if (line === undefined) {
      line = Buffer.from(`{"type":"${type}","object":${head(object)}${cached.rest}}\n`);
      cached.lines.set(type, line);
    }
    return line;
  }

  #text(object: KubeObject): CachedText {
    let cached = this.#texts.get(object);
    if (cached === undefined) {
      const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
      cached = { rest: JSON.stringify(rest).slice(1) };
      this.#texts.set(object, cached);
    }
    return cached;
  }
}

function head({ kind, apiVersion }: KubeObject): string {
  return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
}
