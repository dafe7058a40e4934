import type { KubeList, KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import type { KubeClient } from "../../src/staging/client-go/rest/client.js";

type Pod = KubeObject & {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
};

const PATH = "/api/v1/namespaces/default/pods";

/** When which pod was seen in which state; by performance.now(). */
export interface Sightings {
  created?: number;
  bound?: number;
  running?: number;
  gone?: number;
}

/** A client that watches pods, as kubectl does, and notes when it saw what. */
export class PodWatcher {
  readonly seen = new Map<string, Sightings>();
  readonly #waiting = new Map<string, () => void>();
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(readonly client: KubeClient) {}

  static async start(client: KubeClient): Promise<PodWatcher> {
    const watcher = new PodWatcher(client);
    const list = await client.expect<KubeList>({ method: "GET", path: PATH });
    watcher.#running = watcher.#follow(list.metadata.resourceVersion ?? "");
    return watcher;
  }

  async #follow(resourceVersion: string): Promise<void> {
    for await (const { type, object } of this.client.watch<Pod>(PATH, { resourceVersion }, this.#stop.signal)) {
      const name = object.metadata.name ?? "";
      const nowMs = performance.now();
      const seen = this.seen.get(name) ?? {};
      this.seen.set(name, seen);
      seen.created ??= nowMs;
      if (object.spec?.nodeName !== undefined) seen.bound ??= nowMs;
      if (object.status?.phase === "Running") this.#note(seen, "running", name, nowMs);
      if (type === "DELETED") this.#note(seen, "gone", name, nowMs);
    }
  }

  #note(seen: Sightings, what: "running" | "gone", name: string, nowMs: number): void {
    seen[what] ??= nowMs;
    this.#waiting.get(`${what} ${name}`)?.();
    this.#waiting.delete(`${what} ${name}`);
  }

  running(name: string): Promise<void> {
    return this.#until("running", name);
  }

  gone(name: string): Promise<void> {
    return this.#until("gone", name);
  }

  #until(what: "running" | "gone", name: string): Promise<void> {
    if (this.seen.get(name)?.[what] !== undefined) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(`${what} ${name}`, resolve));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
