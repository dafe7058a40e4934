import { collectionPath } from "../../client/paths.js";
import { type ReflectDeps, reflect } from "../../client/reflect.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import type { ServiceObject } from "./service-env.js";

const SERVICES = { apiVersion: "v1", resource: "services" } as const;
/** After a refusal: a right may still be given. */
const REFUSED_RETRY_MS = 30_000;

export interface ServiceListerDeps extends ReflectDeps {
  readonly trace: Trace;
}

/**
 * All services of the cluster, for the environment of containers.
 *
 * Mirrors the service informer of NewMainKubelet in pkg/kubelet/kubelet.go (serviceLister, serviceHasSynced).
 */
export class ServiceLister {
  readonly #services = new Map<string, ServiceObject>();
  #hasSynced = false;

  constructor(readonly deps: ServiceListerDeps) {}

  /** undefined until they have been read once. */
  list(): readonly ServiceObject[] | undefined {
    return this.#hasSynced ? [...this.#services.values()] : undefined;
  }

  /** Follows them until `signal` aborts: then it rejects with its reason. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, trace } = this.deps;
    for (;;) {
      try {
        for await (const event of reflect<ServiceObject>(this.deps, { path: collectionPath(SERVICES) }, signal)) {
          if (event.type === "initDone") this.#replace(event.objects);
          // A fresh list counts as a whole, or what was deleted meanwhile would stay.
          else if (event.type === "applied" && this.#hasSynced) this.#services.set(keyOf(event.object), event.object);
          else if (event.type === "deleted") this.#services.delete(keyOf(event.object));
        }
      } catch (error) {
        if (signal.aborted || !(error instanceof LabError)) throw error;
        const hint = `Containers wait for them. They are asked for again in ${REFUSED_RETRY_MS / 1000} s. ${error.hint}`;
        trace.emit({ kind: "error", message: `services: ${error.message}`, hint }, { actor: "kubelet" });
      }
      signal.throwIfAborted();
      await clock.sleep(REFUSED_RETRY_MS, signal);
    }
  }

  #replace(services: readonly ServiceObject[]): void {
    this.#services.clear();
    for (const service of services) this.#services.set(keyOf(service), service);
    this.#hasSynced = true;
  }
}

function keyOf({ metadata }: ServiceObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}
