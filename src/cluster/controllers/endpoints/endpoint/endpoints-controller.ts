import type { V1Endpoints } from "@kubernetes/client-node";
import { keyOf, splitKey } from "../../../../staging/apimachinery/api/object-key.js";
import type { Service } from "../../../../staging/apimachinery/api/objects.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import type { SharedReflector } from "../../../../staging/client-go/informers/shared-reflector.js";
import type { EventRecorder } from "../../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../../staging/client-go/record/reference.js";
import { WorkQueue } from "../../../../staging/client-go/workqueue.js";
import { defined } from "../../../../util/defined.js";
import { messageOf } from "../../../../util/errors.js";
import type { Controller } from "../../controller.js";
import { isNamespaceTerminating } from "../../support/pod-control.js";
import type { SharedDeps } from "../../support/shared-deps.js";
import { changesOf, decide, runSyncLoop } from "../../support/sync-loop.js";
import { ServicesAndPods } from "../util/services-and-pods.js";
import { LEADER } from "../util/slices.js";
import { LAST_CHANGE_TRIGGER_TIME, TriggerTimeTracker } from "../util/trigger-time-tracker.js";
import { countAddresses, MAX_CAPACITY, subsetsFor, truncateSubsets } from "./subsets.js";

const NAME = "endpoint";
const FILE = "pkg/controller/endpoint/endpoints_controller.go";
const UPSTREAM = { file: FILE, func: "syncService" };
const HEADLESS = "service.kubernetes.io/headless";
const OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity";
/** Mirrors maxRetries: 5 ms to 82 s. */
const MAX_RETRIES = 15;

type Endpoints = Wire<V1Endpoints>;

/** Keeps the Endpoints of each service that has a selector. Mirrors pkg/controller/endpoint/endpoints_controller.go. */
export function createEndpointsController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new EndpointsRun(deps).run(signal) };
}

class EndpointsRun {
  readonly #objects: ServicesAndPods;
  readonly #endpoints: SharedReflector<Endpoints>;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  readonly #triggers = new TriggerTimeTracker();

  constructor(readonly deps: SharedDeps) {
    const { clock, reflectors } = deps;
    this.#endpoints = reflectors.of<Endpoints>("endpoints");
    this.#queue = new WorkQueue(clock, { maxRetries: MAX_RETRIES });
    this.#objects = new ServicesAndPods(deps, this.#queue);
    this.#recorder = deps.recorderFor("endpoint-controller");
  }

  run(signal: AbortSignal): Promise<void> {
    let isStarting = true;
    const endpoints = changesOf(this.#endpoints, {
      // Mirrors checkLeftoverEndpoints: services may have been deleted while no controller ran.
      added: (one) => {
        if (isStarting && one.metadata.annotations?.[LEADER] === undefined) this.#queue.add(keyOf(one));
      },
      deleted: (one) => this.#queue.add(keyOf(one)),
    });
    const sync = (key: string) => {
      isStarting = false;
      return this.#sync(key);
    };
    const { trace } = this.deps;
    return runSyncLoop(
      { name: NAME, trace, queue: this.#queue, sources: [...this.#objects.sources(), endpoints], sync },
      signal,
    );
  }

  async #sync(key: string): Promise<void> {
    const service = this.#objects.service(key);
    if (service === undefined) {
      this.#triggers.deleteService(key);
      if (this.#endpoints.byKey(key) !== undefined) await this.#deleteEndpoints(key);
      return;
    }
    const pods = this.#objects.podsOf(service);
    if (pods === undefined) return;
    const triggerTime = this.#triggers.compute(service, pods);
    const subsets = subsetsFor(service, pods);
    const current = this.#endpoints.byKey(key);
    const wanted = endpointsFor(service, current, subsets, triggerTime);
    if (current === undefined) await this.#create(wanted, pods.length);
    else if (!isCurrent(current, service, subsets)) await this.#update(wanted, current, pods.length);
  }

  async #deleteEndpoints(key: string): Promise<void> {
    const { client, trace } = this.deps;
    const { namespace, name } = splitKey(key);
    const decision = { what: `delete Endpoints ${key}`, why: "there is no such service", upstream: UPSTREAM };
    await decide(trace, decision, () => client.delete("endpoints", namespace, name));
  }

  async #create(endpoints: Endpoints, podCount: number): Promise<void> {
    const { client, trace } = this.deps;
    const { namespace } = endpoints.metadata;
    const what = `create Endpoints ${keyOf(endpoints)}`;
    const why = countsOf(endpoints, podCount);
    try {
      await decide(trace, { what, why, upstream: UPSTREAM }, () => client.create("endpoints", namespace, endpoints));
    } catch (error) {
      // A namespace that is being deleted gets no new endpoints, however often it is tried.
      if (isNamespaceTerminating(error)) return;
      const message = `Failed to create endpoint for service ${keyOf(endpoints)}: ${messageOf(error)}`;
      this.#recorder.event(referenceTo(endpoints), "Warning", "FailedToCreateEndpoint", message);
      throw error;
    }
  }

  async #update(endpoints: Endpoints, before: Endpoints, podCount: number): Promise<void> {
    const { client, trace } = this.deps;
    const what = `update Endpoints ${keyOf(endpoints)}`;
    const { ready, notReady } = countAddresses(before.subsets ?? []);
    const why = `${countsOf(endpoints, podCount)}; before: ${ready} ready, ${notReady} not ready`;
    try {
      await decide(trace, { what, why, upstream: UPSTREAM }, () => client.update("endpoints", endpoints));
    } catch (error) {
      const message = `Failed to update endpoint ${keyOf(endpoints)}: ${messageOf(error)}`;
      this.#recorder.event(referenceTo(endpoints), "Warning", "FailedToUpdateEndpoint", message);
      throw error;
    }
  }
}

function countsOf({ subsets }: Pick<Endpoints, "subsets">, podCount: number): string {
  const { ready, notReady } = countAddresses(subsets ?? []);
  const cut = ready + notReady === MAX_CAPACITY ? ", as many as fit" : "";
  return `the service selects ${podCount} ${podCount === 1 ? "pod" : "pods"}: ${ready} ready, ${notReady} not ready${cut}`;
}

function isCurrent(current: Endpoints, service: Service, subsets: NonNullable<Endpoints["subsets"]>): boolean {
  const { [HEADLESS]: _, ...labels } = current.metadata.labels ?? {};
  const isMarked = current.metadata.annotations?.[OVER_CAPACITY] === "truncated";
  const truncated = truncateSubsets(subsets);
  return (
    isMarked === (truncated !== undefined) &&
    semanticallyEqual(current.subsets, truncated ?? subsets) &&
    semanticallyEqual(labels, service.metadata.labels)
  );
}

/** The Endpoints as they should be; `current` gives what this controller does not own. */
function endpointsFor(
  { metadata, spec }: Service,
  current: Endpoints | undefined,
  subsets: NonNullable<Endpoints["subsets"]>,
  triggerTime: string | undefined,
): Endpoints {
  const truncated = truncateSubsets(subsets);
  const kept = truncated ?? subsets;
  const labels: Record<string, string> = { ...metadata.labels };
  const { clusterIP: clusterIp = "" } = spec ?? {};
  if (clusterIp === "" || clusterIp === "None") labels[HEADLESS] = "";
  else delete labels[HEADLESS];
  const annotations = withEntries(current?.metadata.annotations, {
    [LAST_CHANGE_TRIGGER_TIME]: triggerTime,
    [OVER_CAPACITY]: truncated === undefined ? undefined : "truncated",
  });
  const { namespace, name } = metadata;
  const { subsets: _old, ...rest } = current ?? { apiVersion: "v1", kind: "Endpoints" };
  const own = current?.metadata ?? defined({ name, namespace });
  return { ...rest, metadata: { ...own, annotations, labels }, ...(kept.length === 0 ? {} : { subsets: kept }) };
}

/** Sets entries of a map, and removes those without a value. */
function withEntries(
  map: Readonly<Record<string, string>> | undefined,
  entries: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const merged: Record<string, string | undefined> = { ...map, ...entries };
  return defined(merged) as Record<string, string>;
}
