import type { KubeObject } from "../../apimachinery/api/meta.js";
import { type ReflectDeps, type ReflectOptions, reflect } from "../../client-go/cache/reflect.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";

/** After a refusal: a right may still be given. As client-go's reflector at its slowest. */
const REFUSED_RETRY_MS = 30_000;

export interface InformerDeps extends ReflectDeps {
  readonly trace: Trace;
}

export interface InformerOptions<T> extends ReflectOptions {
  readonly onChanged?: (object: T) => void;
  /** said beside a refusal, as a sentence: what cannot go on before it is known */
  readonly waiting?: string;
}

/**
 * What the API server has of one kind, followed by list and watch.
 *
 * Mirrors the informers of NewMainKubelet in pkg/kubelet/kubelet.go (nodes: its own; services).
 */
export class Informer<T extends KubeObject = KubeObject> {
  /** by `namespace/name` */
  #store = new Map<string, T>();
  #hasSynced = false;
  #resolveSynced: () => void = () => {};
  /** Resolves when all has been listed once. */
  readonly synced: Promise<void>;

  constructor(
    readonly deps: InformerDeps,
    readonly options: InformerOptions<T>,
  ) {
    this.synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get objects(): readonly T[] {
    return [...this.#store.values()];
  }

  /** The same; undefined until all has been listed once. */
  get syncedObjects(): readonly T[] | undefined {
    return this.#hasSynced ? this.objects : undefined;
  }

  /** Follows until `signal` aborts: then it rejects with its reason. What is known stays while nothing can be had. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, trace } = this.deps;
    for (;;) {
      try {
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof LabError)) throw error;
        const { waiting = "" } = this.options;
        const hint = `${waiting} It is asked for again in ${REFUSED_RETRY_MS / 1000} s. ${error.hint}`.trim();
        trace.emit({ kind: "error", message: error.message, hint }, { actor: "kubelet" });
      }
      signal.throwIfAborted();
      await clock.sleep(REFUSED_RETRY_MS, signal);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for await (const event of reflect<T>(this.deps, this.options, signal)) {
      switch (event.type) {
        case "init":
          break;
        case "initDone":
          // What is gone is only known now.
          this.#store = new Map(event.objects.map((object) => [keyOf(object), object]));
          this.#hasSynced = true;
          this.#resolveSynced();
          break;
        case "deleted":
          this.#store.delete(keyOf(event.object));
          break;
        default:
          this.#store.set(keyOf(event.object), event.object);
          this.options.onChanged?.(event.object);
      }
    }
  }
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}
