import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import type { PodObject, Service } from "../../../../staging/apimachinery/api/objects.js";
import type { SharedReflector } from "../../../../staging/client-go/informers/shared-reflector.js";
import type { WorkQueue } from "../../../../staging/client-go/workqueue.js";
import type { SharedDeps } from "../../support/shared-deps.js";
import { type ChangeSource, changesOf } from "../../support/sync-loop.js";
import { ServiceSelectorCache, selects } from "./service-selector-cache.js";

/**
 * The services and pods of a controller that writes the endpoints of services: each change adds the keys of the services whose
 * endpoints it can change.
 * Mirrors onServiceUpdate, onServiceDelete, addPod, updatePod and deletePod in pkg/controller/endpoint/endpoints_controller.go and
 * pkg/controller/endpointslice/endpointslice_controller.go.
 */
export class ServicesAndPods {
  readonly #services: SharedReflector<Service>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #selectors = new ServiceSelectorCache();

  constructor(
    { reflectors }: Pick<SharedDeps, "reflectors">,
    readonly queue: Pick<WorkQueue, "add">,
  ) {
    this.#services = reflectors.of<Service>("services");
    this.#pods = reflectors.of<PodObject>("pods");
  }

  /** @param key `namespace/name` */
  service(key: string): Service | undefined {
    return this.#services.byKey(key);
  }

  /**
   * The pods that a service selects.
   * @returns undefined for a service whose endpoints are not the controller's: another writes those of a service without a
   * selector, and an external name has none
   */
  podsOf({ metadata: { namespace }, spec }: Service): readonly PodObject[] | undefined {
    const selector = spec?.selector;
    if (!selector || spec?.type === "ExternalName") return undefined;
    return this.#pods
      .list()
      .filter(({ metadata }) => metadata.namespace === namespace && selects(selector, metadata.labels));
  }

  /** For `runSyncLoop`. */
  sources(): readonly ChangeSource[] {
    const selectors = this.#selectors;
    const enqueue = (keys: readonly string[]) => {
      for (const key of keys) this.queue.add(key);
    };
    const onService = (service: Service) => {
      selectors.update(service);
      enqueue([keyOf(service)]);
    };
    return [
      changesOf(this.#services, {
        added: onService,
        updated: (_previous, service) => onService(service),
        deleted: (service) => {
          selectors.delete(service);
          enqueue([keyOf(service)]);
        },
      }),
      changesOf(this.#pods, {
        added: (pod) => enqueue(selectors.servicesOf(pod)),
        updated: (previous, pod) => enqueue(selectors.servicesToUpdate(previous, pod)),
        deleted: (pod) => enqueue(selectors.servicesOf(pod)),
      }),
    ];
  }
}
