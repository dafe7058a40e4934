import { collectionPath, NODES } from "../../client/paths.js";
import { type ReflectDeps, reflect } from "../../client/reflect.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import type { NodeObject } from "../nodestatus/node.js";

/** After a refusal: a right may still be given. */
const REFUSED_RETRY_MS = 30_000;

export interface OwnNodeDeps extends ReflectDeps {
  readonly trace: Trace;
}

/**
 * This kubelet's own Node as the API server has it: labels and taints for admission, the pod CIDR for the runtime.
 *
 * Mirrors the node informer of NewMainKubelet, and getNodeAnyWay, in pkg/kubelet.
 */
export class OwnNode {
  #node: NodeObject | undefined;
  #hasSynced = false;
  readonly #synced: Promise<void>;
  #resolveSynced: () => void = () => {};

  /** @param initial the Node as this kubelet would register it */
  constructor(
    readonly deps: OwnNodeDeps,
    readonly options: {
      readonly nodeName: string;
      readonly initial: () => NodeObject;
      readonly onChanged?: (node: NodeObject) => void;
    },
  ) {
    this.#synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
  }

  /** As the API server has it; else as this kubelet would register it. Mirrors getNodeAnyWay. */
  get node(): NodeObject {
    return this.#node ?? this.options.initial();
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves when the API server has been asked once. */
  get synced(): Promise<void> {
    return this.#synced;
  }

  /** Follows the Node until `signal` aborts: then it rejects with its reason. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, trace } = this.deps;
    for (;;) {
      try {
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof LabError)) throw error;
        const hint = `It is asked for again in ${REFUSED_RETRY_MS / 1000} s. ${error.hint}`;
        trace.emit({ kind: "error", message: error.message, hint }, { actor: "kubelet" });
      }
      signal.throwIfAborted();
      await clock.sleep(REFUSED_RETRY_MS, signal);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const fieldSelector = `metadata.name=${this.options.nodeName}`;
    for await (const event of reflect<NodeObject>(this.deps, { path: collectionPath(NODES), fieldSelector }, signal)) {
      if (event.type === "init") continue;
      if (event.type === "initDone") {
        this.#hasSynced = true;
        this.#resolveSynced();
        if (event.objects.length === 0) this.#node = undefined;
        continue;
      }
      this.#node = event.type === "deleted" ? undefined : event.object;
      if (this.#node !== undefined) this.options.onChanged?.(this.#node);
    }
  }
}
