import type { NodeObject } from "../../../../staging/apimachinery/api/node.js";
import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject, type Service } from "../../../../staging/apimachinery/api/objects.js";
import type { SharedReflector } from "../../../../staging/client-go/informers/shared-reflector.js";
import type { EventRecorder } from "../../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../../staging/client-go/record/reference.js";
import { WorkQueue } from "../../../../staging/client-go/workqueue.js";
import { messageOf } from "../../../../util/errors.js";
import type { Controller } from "../../controller.js";
import type { SharedDeps } from "../../support/shared-deps.js";
import { changesOf, runSyncLoop } from "../../support/sync-loop.js";
import { ServicesAndPods } from "../util/services-and-pods.js";
import { EndpointSliceTracker } from "../util/slice-tracker.js";
import { writeSlices } from "../util/slice-writer.js";
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  MANAGED_BY,
  ownerKeyOf,
  SERVICE_NAME,
  SLICE_RETRIES,
} from "../util/slices.js";
import { LAST_CHANGE_TRIGGER_TIME, TriggerTimeTracker } from "../util/trigger-time-tracker.js";
import { type ReconcilePlan, reconcile } from "./reconciler.js";
import { CONTROLLER_NAME } from "./utils.js";

const NAME = "endpointslice";
const UPSTREAM = { file: "pkg/controller/endpointslice/reconciler.go", func: "reconcile" };
/** Mirrors endpointSliceChangeMinSyncDelay. */
const SLICE_CHANGE_DELAY_MS = 1_000;

/**
 * Keeps the EndpointSlices of each service that has a selector: at most 100 endpoints each.
 * Mirrors pkg/controller/endpointslice/endpointslice_controller.go.
 */
export function createEndpointSliceController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new EndpointSliceRun(deps).run(signal) };
}

class EndpointSliceRun {
  readonly #objects: ServicesAndPods;
  readonly #nodes: SharedReflector<NodeObject>;
  readonly #slices: SharedReflector<EndpointSlice>;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  readonly #triggers = new TriggerTimeTracker();
  readonly #tracker = new EndpointSliceTracker();

  constructor(readonly deps: SharedDeps) {
    const { clock, reflectors } = deps;
    this.#nodes = reflectors.of<NodeObject>("nodes");
    this.#slices = reflectors.of<EndpointSlice>(ENDPOINT_SLICES);
    this.#queue = new WorkQueue(clock, SLICE_RETRIES);
    this.#objects = new ServicesAndPods(deps, this.#queue);
    this.#recorder = deps.recorderFor("endpoint-slice-controller");
  }

  run(signal: AbortSignal): Promise<void> {
    const slices = changesOf(this.#slices, {
      added: (slice) => {
        if (isManaged(slice) && this.#tracker.shouldSync(slice)) this.#enqueueFor(slice);
      },
      updated: (previous, slice) => this.#onSliceUpdate(previous, slice),
      deleted: (slice) => {
        if (!isManaged(slice) || !this.#tracker.has(slice)) return;
        if (!this.#tracker.handleDeletion(slice)) this.#enqueueFor(slice);
      },
    });
    // A node's zone reaches the endpoints with the next change of its pods, as upstream.
    const nodes = changesOf(this.#nodes, {});
    const { trace } = this.deps;
    const sync = (key: string) => this.#sync(key);
    return runSyncLoop(
      { name: NAME, trace, queue: this.#queue, sources: [...this.#objects.sources(), nodes, slices], sync },
      signal,
    );
  }

  #onSliceUpdate(previous: EndpointSlice, slice: EndpointSlice): void {
    if (ownerKeyOf(previous) !== ownerKeyOf(slice)) {
      this.#enqueueFor(slice);
      this.#enqueueFor(previous);
    } else if (isManaged(previous) !== isManaged(slice) || (isManaged(slice) && this.#tracker.shouldSync(slice))) {
      this.#enqueueFor(slice);
    }
  }

  #enqueueFor(slice: EndpointSlice): void {
    const key = ownerKeyOf(slice);
    if (key !== undefined) this.#queue.addAfter(key, SLICE_CHANGE_DELAY_MS);
  }

  async #sync(key: string): Promise<void> {
    const service = this.#objects.service(key);
    if (service === undefined) {
      // The garbage collector deletes the slices: the service owns them.
      this.#triggers.deleteService(key);
      this.#tracker.deleteService(key);
      return;
    }
    const pods = this.#objects.podsOf(service);
    if (pods === undefined) return;
    const slices = this.#slicesOf(service);
    this.#tracker.checkCurrent(key, slices);
    const triggerTime = this.#triggers.compute(service, pods);
    try {
      await this.#reconcile(service, pods, slices, triggerTime);
    } catch (error) {
      const message = `Error updating Endpoint Slices for Service ${key}: ${messageOf(error)}`;
      this.#recorder.event(referenceTo(service), "Warning", "FailedToUpdateEndpointSlices", message);
      throw error;
    }
  }

  #slicesOf(service: Service): EndpointSlice[] {
    const { namespace } = service.metadata;
    return this.#slices.list().filter(({ metadata }) => {
      const { [SERVICE_NAME]: name, [MANAGED_BY]: manager } = metadata.labels ?? {};
      return metadata.namespace === namespace && name === nameOf(service) && manager === CONTROLLER_NAME;
    });
  }

  async #reconcile(
    service: Service,
    pods: readonly PodObject[],
    slices: readonly EndpointSlice[],
    triggerTime: string | undefined,
  ): Promise<void> {
    const { client, trace } = this.deps;
    const plan = reconcile({ service, pods, slices, nodeOf: (name) => this.#nodes.byKey(name) });
    const marked = {
      create: plan.create.map((slice) => withTriggerTime(slice, triggerTime)),
      update: plan.update.map((slice) => withTriggerTime(slice, triggerTime)),
      delete: plan.delete,
    };
    await writeSlices({ client, trace, tracker: this.#tracker }, marked, {
      owner: `Service ${keyOf(service)}`,
      why: reasonOf(plan, pods.length, slices.length),
      upstream: UPSTREAM,
      mayCreate: !isTerminating(service),
    });
    // The pod may come back with its node; the pod garbage collector removes it otherwise.
    if (plan.skipped.length > 0) throw new Error(plan.skipped.join("; "));
  }
}

function reasonOf({ added, removed }: ReconcilePlan, pods: number, slices: number): string {
  const selected = `the service selects ${pods} ${pods === 1 ? "pod" : "pods"} and has ${slices} ${slices === 1 ? "slice" : "slices"}`;
  return `${selected}: ${added} ${added === 1 ? "endpoint" : "endpoints"} added, ${removed} removed`;
}

function isManaged({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.[MANAGED_BY] === CONTROLLER_NAME;
}

/** Mirrors addTriggerTimeAnnotation. */
function withTriggerTime(slice: EndpointSlice, triggerTime: string | undefined): EndpointSlice {
  const { [LAST_CHANGE_TRIGGER_TIME]: _old, ...rest } = slice.metadata.annotations ?? {};
  const annotations = triggerTime === undefined ? rest : { ...rest, [LAST_CHANGE_TRIGGER_TIME]: triggerTime };
  return { ...slice, metadata: { ...slice.metadata, annotations } };
}
