import type { KubeObject } from "../../apimachinery/api/meta.js";
import { qualifiedResource } from "../../apimachinery/errors.js";
import { semanticallyEqual } from "../../apimachinery/semantic-equality.js";
import { keyOf } from "../../client-go/cache/key.js";
import type { Trace } from "../../trace/trace.js";
import { ChildAbort } from "../../util/abort.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import type { Random } from "../../util/random.js";
import type { ResourceDefinition } from "../registry/definition.js";
import { resourceKeys } from "../registry/keys.js";
import { timestamp } from "../registry/object-meta.js";
import type { Registry } from "../registry/registry.js";
import { ENDPOINT_SLICES, ENDPOINTS } from "../registry/resources/network.js";
import { SERVICES } from "../registry/resources/services/definition.js";
import { apiServerEndpointSlice, apiServerEndpoints, kubernetesService } from "../registry/resources/system-objects.js";
import type { Storage } from "../storage/storage.js";

const FOLDER = "pkg/controlplane";
/** Mirrors DefaultEndpointReconcilerInterval. */
const ENDPOINT_INTERVAL_MS = 10_000;

interface ReconcilerDeps {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: Random;
  readonly trace: Trace;
}

interface Wanted {
  readonly definition: ResourceDefinition;
  readonly key: string;
  readonly object: KubeObject;
}

/** A service whose endpoints are not pods, but servers of this cluster itself. */
export interface OwnService {
  readonly service: KubeObject;
  /** its Endpoints and EndpointSlice */
  readonly endpoints: readonly KubeObject[];
}

/** The service `kubernetes` in `default`: pods find the API server by it. @param host @param port where it listens */
export function apiServerService(host: string, port: number): OwnService {
  const endpoints = [apiServerEndpoints(host, port), apiServerEndpointSlice(host, port)];
  return { service: kubernetesService(), endpoints };
}

/** Writes a service and its endpoints where they are missing, or show other addresses. */
export function writeService(deps: ReconcilerDeps, own: OwnService): Promise<void> {
  return new ServiceReconciler(deps, own).reconcile();
}

/** Writes a service and its endpoints, and keeps them until the result is closed. */
export async function keepService(deps: ReconcilerDeps, own: OwnService): Promise<{ close(): Promise<void> }> {
  const reconciler = new ServiceReconciler(deps, own);
  await reconciler.reconcile();
  const stop = new AbortController();
  const running = reconciler.run(stop.signal).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return {
    close: () => {
      stop.abort();
      return running;
    },
  };
}

/**
 * Mirrors pkg/controlplane/controller.go (UpdateKubernetesService) and pkg/controlplane/reconcilers/endpointsadapter.go
 * (EnsureEndpointSliceFromEndpoints). Differs: upstream looks every ten seconds; here, ten seconds after a change, so that an
 * idle cluster does nothing. Endpoints are written below validation, because the address is a loopback address, which
 * upstream refuses.
 */
class ServiceReconciler {
  readonly #wanted: readonly Wanted[];
  /** the service is created only; its endpoints are corrected as well */
  readonly #service: Wanted;

  constructor(
    readonly deps: ReconcilerDeps,
    { service, endpoints }: OwnService,
  ) {
    this.#service = wanted(SERVICES, service);
    this.#wanted = endpoints.map((one) => wanted(one.kind === "Endpoints" ? ENDPOINTS : ENDPOINT_SLICES, one));
  }

  async reconcile(): Promise<void> {
    await this.#ensureService();
    for (const one of this.#wanted) await this.#ensure(one);
  }

  /** Reconciles after each change by another client, until `signal` aborts. @throws the signal's reason */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, storage, trace } = this.deps;
    for (let revision = await storage.currentRevision(); !signal.aborted; ) {
      try {
        if (!(await this.#changed(revision, signal))) return;
        await clock.sleep(ENDPOINT_INTERVAL_MS, signal);
        revision = await storage.currentRevision();
        await trace.origin("timer", () => this.reconcile());
      } catch (error) {
        signal.throwIfAborted();
        const message = `the service ${keyOf(this.#service.object)}: ${messageOf(error)}`;
        const hint = `it is tried again in ${ENDPOINT_INTERVAL_MS / 1000} s`;
        trace.emit({ kind: "error", message, hint }, { actor: "apiserver" });
        await clock.sleep(ENDPOINT_INTERVAL_MS, signal);
        revision = await storage.currentRevision();
      }
    }
  }

  /** Waits for a change that has to be corrected. @returns false if `signal` aborts first */
  async #changed(afterRevision: number, signal: AbortSignal): Promise<boolean> {
    using stop = new ChildAbort(signal);
    let isChanged = false;
    const follow = async ({ key, object }: Wanted) => {
      for await (const event of this.deps.storage.watch(key, afterRevision, stop.signal)) {
        if (event.key !== key || (event.type === "put" && isUpToDate(event.object, object))) continue;
        isChanged = true;
        stop.abort();
        return;
      }
    };
    await Promise.all([this.#service, ...this.#wanted].map(follow));
    return isChanged;
  }

  /** Mirrors CreateOrUpdateMasterServiceIfNeeded. */
  async #ensureService(): Promise<void> {
    const { storage, registry } = this.deps;
    const { key, object } = this.#service;
    if ((await storage.get(key)).entry !== undefined) return;
    await this.#decide(`create the service ${keyOf(object)}`, "it is missing", "controller.go", async () => {
      const context = { user: API_SERVER, warnings: [] };
      await registry.store(qualifiedResource(SERVICES)).create(context, object.metadata.namespace, object);
    });
  }

  async #ensure({ definition, key, object }: Wanted): Promise<void> {
    const { storage, clock, random } = this.deps;
    const { entry } = await storage.get(key);
    if (entry === undefined) {
      const metadata = { ...object.metadata, uid: random.uuid(), creationTimestamp: timestamp(clock.now()) };
      const create = () => storage.create(key, { ...object, metadata });
      await this.#decide(`create ${definition.kind} ${keyOf(object)}`, "it is missing", ADAPTER, create);
    } else if (!isUpToDate(entry.object, object)) {
      const { metadata, ...fields } = object;
      const merged = { ...entry.object, ...fields, metadata: { ...entry.object.metadata, labels: metadata.labels } };
      const update = () => storage.update(key, merged as KubeObject, entry.modRevision);
      const why = "it does not say where the server listens";
      await this.#decide(`update ${definition.kind} ${keyOf(object)}`, why, ADAPTER, update);
    }
  }

  async #decide(what: string, why: string, file: string, act: () => Promise<unknown>): Promise<void> {
    const { trace } = this.deps;
    const upstream = { file: `${FOLDER}/${file}`, func: "UpdateKubernetesService" };
    const { id } = trace.emit({ kind: "decision", what, why, upstream }, { actor: "apiserver", level: 3 });
    await trace.because({ causedBy: id }, act);
  }
}

const API_SERVER = { username: "system:apiserver", groups: ["system:masters"] };

const ADAPTER = "reconcilers/endpointsadapter.go";

function wanted(definition: ResourceDefinition, object: KubeObject): Wanted {
  const { namespace, name = "" } = object.metadata;
  return { definition, object, key: resourceKeys(definition).key(namespace, name) };
}

/** The labels and every field that is wanted are there. A service counts as it is. */
function isUpToDate(current: KubeObject, { metadata, ...fields }: KubeObject): boolean {
  if (current.kind === "Service") return true;
  return (
    semanticallyEqual(current.metadata.labels, metadata.labels) &&
    Object.entries(fields).every(([field, value]) => semanticallyEqual(current[field], value))
  );
}
