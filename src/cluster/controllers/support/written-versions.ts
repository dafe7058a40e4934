import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";

/**
 * The versions that a controller wrote last. Until its cache shows them, a sync would decide from old numbers: it would record the
 * same events again, only to fail with a conflict. The watch event of the written version brings the key back.
 *
 * Differs: upstream lets such a sync fail.
 */
export class WrittenVersions {
  readonly #byKey = new Map<string, number>();

  wrote(object: KubeObject): void {
    this.#byKey.set(keyOf(object), versionOf(object));
  }

  /** Reports whether the cached object is older than what was written. */
  isOld(cached: KubeObject): boolean {
    const written = this.#byKey.get(keyOf(cached));
    return written !== undefined && versionOf(cached) < written;
  }

  delete(key: string): void {
    this.#byKey.delete(key);
  }
}

function versionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion ?? 0);
}
