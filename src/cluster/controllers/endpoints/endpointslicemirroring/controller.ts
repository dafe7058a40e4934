import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import { isTerminating, type Service } from "../../../../staging/apimachinery/api/objects.js";
import type { SharedReflector } from "../../../../staging/client-go/informers/shared-reflector.js";
import type { EventRecorder } from "../../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../../staging/client-go/record/reference.js";
import { WorkQueue } from "../../../../staging/client-go/workqueue.js";
import type { Controller } from "../../controller.js";
import type { SharedDeps } from "../../support/shared-deps.js";
import { changesOf, runSyncLoop } from "../../support/sync-loop.js";
import { EndpointSliceTracker } from "../util/slice-tracker.js";
import { writeSlices } from "../util/slice-writer.js";
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  LEADER,
  MANAGED_BY,
  ownerKeyOf,
  SLICE_RETRIES,
  type SliceChanges,
} from "../util/slices.js";
import { CONTROLLER_NAME, type Endpoints, MAX_ENDPOINTS_PER_SUBSET, mirror } from "./reconciler.js";

const NAME = "endpointslicemirroring";
const UPSTREAM = { file: "pkg/controller/endpointslicemirroring/reconciler.go", func: "reconcile" };
const SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror";

/**
 * Copies Endpoints that were written by hand, for a service without a selector, into EndpointSlices, which kube-proxy and DNS read.
 * Mirrors pkg/controller/endpointslicemirroring/endpointslicemirroring_controller.go.
 */
export function createEndpointSliceMirroringController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new MirroringRun(deps).run(signal) };
}

class MirroringRun {
  readonly #services: SharedReflector<Service>;
  readonly #endpoints: SharedReflector<Endpoints>;
  readonly #slices: SharedReflector<EndpointSlice>;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  readonly #tracker = new EndpointSliceTracker();

  constructor(readonly deps: SharedDeps) {
    const { clock, reflectors } = deps;
    this.#services = reflectors.of<Service>("services");
    this.#endpoints = reflectors.of<Endpoints>("endpoints");
    this.#slices = reflectors.of<EndpointSlice>(ENDPOINT_SLICES);
    this.#queue = new WorkQueue(clock, SLICE_RETRIES);
    this.#recorder = deps.recorderFor("endpoint-slice-mirroring-controller");
  }

  run(signal: AbortSignal): Promise<void> {
    const enqueue = (object: Service | Endpoints) => this.#queue.add(keyOf(object));
    const onService = (service: Service) => {
      if (!service.spec?.selector) enqueue(service);
    };
    const services = changesOf(this.#services, {
      added: onService,
      updated: (previous, service) => {
        if (!service.spec?.selector !== !previous.spec?.selector) enqueue(service);
      },
      deleted: onService,
    });
    const onEndpoints = (endpoints: Endpoints) => {
      if (shouldMirror(endpoints)) enqueue(endpoints);
    };
    const endpoints = changesOf(this.#endpoints, {
      added: onEndpoints,
      updated: (previous, now) => {
        if (shouldMirror(previous) || shouldMirror(now)) enqueue(now);
      },
      deleted: onEndpoints,
    });
    const slices = changesOf(this.#slices, {
      added: (slice) => {
        if (isManaged(slice) && this.#tracker.shouldSync(slice)) this.#enqueueFor(slice);
      },
      updated: (previous, slice) => {
        const isOthers = isManaged(slice) && this.#tracker.shouldSync(slice);
        if (isManaged(previous) !== isManaged(slice) || isOthers) this.#enqueueFor(slice);
      },
      deleted: (slice) => {
        if (!isManaged(slice) || !this.#tracker.has(slice)) return;
        if (!this.#tracker.handleDeletion(slice)) this.#enqueueFor(slice);
      },
    });
    const { trace } = this.deps;
    const sync = (key: string) => this.#sync(key);
    return runSyncLoop({ name: NAME, trace, queue: this.#queue, sources: [services, endpoints, slices], sync }, signal);
  }

  #enqueueFor(slice: EndpointSlice): void {
    const key = ownerKeyOf(slice);
    if (key !== undefined) this.#queue.add(key);
  }

  async #sync(key: string): Promise<void> {
    const endpoints = this.#endpoints.byKey(key);
    const service = this.#services.byKey(key);
    const slices = this.#slices.list().filter((slice) => isManaged(slice) && ownerKeyOf(slice) === key);
    const why = whyNotMirrored(endpoints, service);
    if (endpoints === undefined || why !== undefined) {
      this.#tracker.deleteService(key);
      await this.#write({ create: [], update: [], delete: slices }, key, why ?? "", false);
      return;
    }
    // If a service gets a selector, its mirrored slices stay: see issue 91072 of Kubernetes.
    if (service?.spec?.selector) return;
    this.#tracker.checkCurrent(key, slices);
    const plan = mirror(endpoints, slices);
    this.#recordSkipped(endpoints, plan.invalidCount, plan.skippedCount);
    const { added, updated, removed } = plan;
    const reason = `the Endpoints object was written by hand: ${added} added, ${updated} updated, ${removed} removed`;
    await this.#write(plan, key, reason, !isTerminating(endpoints));
  }

  async #write(changes: SliceChanges, key: string, why: string, mayCreate: boolean): Promise<void> {
    const { client, trace } = this.deps;
    const options = { owner: `Endpoints ${key}`, why, upstream: UPSTREAM, mayCreate };
    await writeSlices({ client, trace, tracker: this.#tracker }, changes, options);
  }

  #recordSkipped(endpoints: Endpoints, invalidCount: number, skippedCount: number): void {
    const about = referenceTo({ ...endpoints, apiVersion: "v1", kind: "Endpoints" });
    if (invalidCount > 0) {
      const message = `Skipped ${invalidCount} invalid IP addresses when mirroring to EndpointSlices`;
      this.#recorder.event(about, "Warning", "InvalidIPAddress", message);
    }
    if (skippedCount > invalidCount) {
      const limit = `A max of ${MAX_ENDPOINTS_PER_SUBSET} addresses can be mirrored to EndpointSlices per Endpoints subset.`;
      this.#recorder.event(
        about,
        "Warning",
        "TooManyAddressesToMirror",
        `${limit} ${skippedCount} addresses were skipped`,
      );
    }
  }
}

function whyNotMirrored(endpoints: Endpoints | undefined, service: Service | undefined): string | undefined {
  if (endpoints === undefined) return "there are no such Endpoints";
  if (!shouldMirror(endpoints)) return "the Endpoints are not to be mirrored";
  return service === undefined ? "there is no such service" : undefined;
}

/** Mirrors shouldMirror. */
function shouldMirror({ metadata }: Endpoints): boolean {
  return metadata.labels?.[SKIP_MIRROR] !== "true" && metadata.annotations?.[LEADER] === undefined;
}

function isManaged({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.[MANAGED_BY] === CONTROLLER_NAME;
}
