import type { Actor } from "../../../trace/events.js";
import { LabError } from "../../../util/errors.js";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import { keyOf } from "../../apimachinery/api/object-key.js";
import type { ClientCtx } from "../rest/client.js";
import { type ReflectOptions, reflect } from "./reflect.js";

/** The wait after a 403: the right may still be granted. It is the longest wait of client-go's reflector. */
const REFUSED_RETRY_MS = 30_000;

export interface InformerOptions<T> extends ReflectOptions {
  /** runs with the watch event, or the list, as its cause */
  readonly onChanged?: (object: T) => void;
  /** a sentence for the hint of a refusal: the work that waits for these objects */
  readonly waiting?: string;
  /** the informer's owner; default: the kubelet */
  readonly actor?: Actor;
  /** the beginning of a sentence; default `The kubelet` */
  readonly component?: string;
}

/**
 * The objects of one kind, kept up to date by list and watch.
 *
 * Mirrors k8s.io/client-go/tools/cache (Informer).
 */
export class Informer<T extends KubeObject = KubeObject> {
  /** by `namespace/name` */
  #store = new Map<string, T>();
  #version = 0;
  #hasSynced = false;
  #resolveSynced: () => void = () => {};
  /** Resolves after the first list. */
  readonly synced: Promise<void>;

  constructor(
    readonly deps: ClientCtx,
    readonly options: InformerOptions<T>,
  ) {
    this.synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
  }

  /** Counts the changes. The same number means the same objects. */
  get version(): number {
    return this.#version;
  }

  /** @param key `namespace/name` */
  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  get objects(): readonly T[] {
    return [...this.#store.values()];
  }

  /** The objects; undefined before the first list. */
  get syncedObjects(): readonly T[] | undefined {
    return this.#hasSynced ? this.objects : undefined;
  }

  /** Runs until `signal` aborts. Keeps the last known objects while the API server is unreachable. @throws its reason */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, trace } = this.deps;
    for (;;) {
      try {
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof LabError)) throw error;
        const { waiting = "", actor = "kubelet", component = "The kubelet" } = this.options;
        const hint = `${waiting} ${component} retries in ${REFUSED_RETRY_MS / 1000} s. ${error.hint}`.trim();
        trace.emit({ kind: "error", message: error.message, hint }, { actor });
      }
      signal.throwIfAborted();
      await clock.sleep(REFUSED_RETRY_MS, signal);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for await (const event of reflect<T>(this.deps, this.options, signal)) {
      this.#version++;
      switch (event.type) {
        case "init":
          break;
        case "initDone":
          // Only a complete list shows which objects are gone.
          this.#store = new Map(event.objects.map((object) => [keyOf(object), object]));
          this.#hasSynced = true;
          this.#resolveSynced();
          break;
        case "deleted":
          this.#store.delete(keyOf(event.object));
          break;
        default:
          this.#store.set(keyOf(event.object), event.object);
          this.deps.trace.because(event, () => this.options.onChanged?.(event.object));
      }
    }
  }
}
