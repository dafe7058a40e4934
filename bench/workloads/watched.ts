import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import { keyOf } from "../../src/staging/apimachinery/api/object-key.js";
import { reflect } from "../../src/staging/client-go/cache/reflect.js";
import type { ClientCtx } from "../../src/staging/client-go/rest/client.js";

/** The objects of a collection as a client sees them, and when it saw that something is so. */
export class Watched<T extends KubeObject> implements AsyncDisposable {
  readonly #objects = new Map<string, T>();
  readonly #waiting = new Set<() => void>();
  readonly #stop = new AbortController();
  readonly #following: Promise<void>;

  constructor(deps: ClientCtx, path: string) {
    this.#following = this.#follow(deps, path);
  }

  async #follow(deps: ClientCtx, path: string): Promise<void> {
    for await (const event of reflect<T>(deps, { path }, this.#stop.signal)) {
      if (event.type === "applied") this.#objects.set(keyOf(event.object), event.object);
      if (event.type === "deleted") this.#objects.delete(keyOf(event.object));
      for (const check of [...this.#waiting]) check();
    }
  }

  get objects(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** @returns performance.now() of the event after which it is so */
  until(isSo: (objects: readonly T[]) => boolean): Promise<number> {
    return new Promise((resolve) => {
      const check = () => {
        if (!isSo(this.objects)) return;
        this.#waiting.delete(check);
        resolve(performance.now());
      };
      this.#waiting.add(check);
      check();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#following;
  }
}
