import { ChildAbort } from "../../../util/async/abort.js";
import { type ScraperDeps, scrape } from "./scraper.js";
import { MetricsStorage } from "./storage.js";

/** Mirrors --metric-resolution in the manifests of metrics-server. */
const RESOLUTION_MS = 15_000;
/** The first two readings are closer together, because a reader waits for them. */
const FIRST_WINDOW_MS = 1_000;
/** After this time without a reader the kubelets are left alone. It is longer than two periods of an autoscaler (15 s). */
const IDLE_AFTER_MS = 60_000;

/**
 * Reads the usage of nodes and pods while there are readers.
 *
 * Mirrors pkg/server/server.go of metrics-server (RunUntil, tick).
 * Differs: it starts with its first reader and stops a minute after the last one, so that an idle cluster costs nothing; metrics-server
 * always runs.
 */
export class MetricsServer {
  readonly #stop: ChildAbort;
  #lastReadMs = 0;
  #storage = new MetricsStorage(RESOLUTION_MS);
  /** resolves when there are two readings */
  #ready: Promise<void> | undefined;
  #running: Promise<void> = Promise.resolve();

  /** @param signal aborts when the control plane closes */
  constructor(
    readonly deps: ScraperDeps,
    signal: AbortSignal,
  ) {
    this.#stop = new ChildAbort(signal);
  }

  /** whether it reads the kubelets at the moment */
  get isScraping(): boolean {
    return this.#ready !== undefined;
  }

  /** The readings so far. Waits for the first two if there was no reader for a while. */
  async read(): Promise<MetricsStorage> {
    const { clock, trace } = this.deps;
    this.#lastReadMs = clock.now();
    if (this.#ready === undefined) {
      const text = `metrics.k8s.io has a reader: the kubelets are asked for their usage every ${RESOLUTION_MS / 1000} s.`;
      trace.emit({ kind: "note", text }, { actor: "apiserver", level: 2 });
      this.#ready = new Promise((resolve, reject) => {
        this.#running = trace.detached(() => this.#run(resolve)).catch(reject);
      });
    }
    await this.#ready;
    return this.#storage;
  }

  async #run(isReady: () => void): Promise<void> {
    const { clock, trace } = this.deps;
    const { signal } = this.#stop;
    try {
      this.#storage = new MetricsStorage(RESOLUTION_MS);
      await this.#tick(signal);
      await clock.sleep(FIRST_WINDOW_MS, signal);
      await this.#tick(signal);
      isReady();
      while (clock.now() - this.#lastReadMs < IDLE_AFTER_MS) {
        await clock.sleep(RESOLUTION_MS, signal);
        await this.#tick(signal);
      }
      const text = "metrics.k8s.io has had no reader for a minute: the kubelets are no longer asked.";
      trace.emit({ kind: "note", text }, { actor: "apiserver", level: 2 });
    } finally {
      this.#ready = undefined;
    }
  }

  async #tick(signal: AbortSignal): Promise<void> {
    this.#storage.store(await scrape(this.deps, signal));
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#stop[Symbol.dispose]();
    await this.#running;
  }
}
