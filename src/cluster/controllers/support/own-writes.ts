import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";

/**
 * The objects that a controller wrote and whose watch events have not reached its cache yet. With them the next pass neither repeats
 * a write nor is refused for an old version.
 * Differs: upstream's controllers run into the conflict, and the queue tries again.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #written = new Map<string, T>();

  remember(object: T): void {
    this.#written.set(keyOf(object), object);
  }

  /** @returns the object that was written last, or the cached one if it is not older */
  latest(cached: T): T {
    const key = keyOf(cached);
    const written = this.#written.get(key);
    if (written === undefined) return cached;
    const isSame = written.metadata.uid === cached.metadata.uid;
    if (isSame && Number(written.metadata.resourceVersion) > Number(cached.metadata.resourceVersion)) return written;
    this.#written.delete(key);
    return cached;
  }

  /** The object is gone. */
  forget(key: string): void {
    this.#written.delete(key);
  }
}
