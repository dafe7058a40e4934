import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { qualifiedResource } from "../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../staging/apimachinery/semantic-equality.js";
import type { Ctx } from "../../../trace/ctx.js";
import { ChildAbort } from "../../../util/async/abort.js";
import { messageOf } from "../../../util/errors.js";
import { ENDPOINT_SLICES, ENDPOINTS } from "../../apiserver/registry/core/endpoints.js";
import { SERVICES } from "../../apiserver/registry/core/services/definition.js";
import type { ResourceDefinition } from "../../apiserver/registry/rest/definition.js";
import { timestamp } from "../../apiserver/registry/rest/object-meta.js";
import type { Registry } from "../../apiserver/registry/rest/registry.js";
import { resourceKeys } from "../../apiserver/storage/keys.js";
import type { Storage } from "../../apiserver/storage/storage.js";
import { type OwnService, ownEndpoints } from "../own-endpoints.js";
import { apiServerEndpoint, kubernetesService } from "../system-objects.js";
import { ServerLeases } from "./server-leases.js";

const FOLDER = "pkg/controlplane";
/** Mirrors DefaultEndpointReconcilerInterval. */
const ENDPOINT_INTERVAL_MS = 10_000;
/** Mirrors the keys of kube-apiserver's `--endpoint-reconciler-type=lease`. */
const MASTER_LEASES = "/registry/masterleases/";

interface ReconcilerDeps extends Ctx {
  readonly storage: Storage;
  readonly registry: Registry;
}

interface Wanted {
  readonly definition: ResourceDefinition;
  readonly key: string;
  readonly object: KubeObject;
}

/** The service `kubernetes` in `default`: pods find the API server by it. @param host @param port where it listens */
export function apiServerService(host: string, port: number): OwnService {
  return { service: kubernetesService(), endpoint: apiServerEndpoint(host, port) };
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
    close: async () => {
      stop.abort();
      await running;
      await reconciler.leave();
    },
  };
}

/**
 * Mirrors pkg/controlplane/controller.go (UpdateKubernetesService), and pkg/controlplane/reconcilers/lease.go
 * (leaseEndpointReconciler) for the servers of one etcd. Differs: upstream looks every ten seconds. Here a single server looks ten
 * seconds after a change, so that an idle cluster does nothing; of several, each also looks when one comes or goes. Endpoints are
 * written below validation, because the address is a loopback address, which upstream refuses.
 */
class ServiceReconciler {
  /** the service is created only; its endpoints are corrected as well */
  readonly #service: Wanted;
  /** undefined: this is the only server */
  readonly #leases: ServerLeases | undefined;

  constructor(
    readonly deps: ReconcilerDeps,
    readonly own: OwnService,
  ) {
    const { service, endpoint } = own;
    this.#service = wanted(SERVICES, service);
    if (!deps.storage.isShared || endpoint === undefined) return;
    const isApiServer = service.metadata.name === kubernetesService().metadata.name;
    const prefix = isApiServer ? MASTER_LEASES : `/kubelab/leases/${service.metadata.name}/`;
    this.#leases = new ServerLeases(deps, prefix, endpoint);
  }

  async reconcile(): Promise<void> {
    await this.#leases?.update();
    await this.#ensureService();
    await this.#ensureEndpoints();
  }

  /** Removes this server from the endpoints, unless it is the last one. Mirrors RemoveEndpoints. */
  async leave(): Promise<void> {
    if (this.#leases === undefined) return;
    try {
      await this.#leases.remove();
      if ((await this.#leases.list()).length > 0) await this.#ensureEndpoints();
    } catch (error) {
      this.#report(error, "its lease ends in 15 s");
    }
  }

  /** Reconciles after each change by another client, until `signal` aborts. @throws the signal's reason */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, storage, trace } = this.deps;
    for (let revision = await storage.currentRevision(); !signal.aborted; ) {
      try {
        if (this.#leases !== undefined) await this.#due(this.#leases, revision, signal);
        else if (await this.#changed(revision, signal)) await clock.sleep(ENDPOINT_INTERVAL_MS, signal);
        else return;
        revision = await storage.currentRevision();
        await trace.origin("timer", () => this.reconcile());
      } catch (error) {
        signal.throwIfAborted();
        this.#report(error, `it is tried again in ${ENDPOINT_INTERVAL_MS / 1000} s`);
        await clock.sleep(ENDPOINT_INTERVAL_MS, signal);
      }
    }
  }

  #report(error: unknown, hint: string): void {
    const message = `the service ${keyOf(this.#service.object)}: ${messageOf(error)}`;
    this.deps.trace.emit({ kind: "error", message, hint }, { actor: "apiserver" });
  }

  /** Waits for the time to refresh the lease, or for another server that comes or goes. */
  async #due(leases: ServerLeases, afterRevision: number, signal: AbortSignal): Promise<void> {
    using stop = new ChildAbort(signal);
    const timer = this.deps.clock.sleep(ENDPOINT_INTERVAL_MS, stop.signal);
    const changed = leases.changed(afterRevision, stop.signal);
    try {
      await Promise.race([timer, changed]);
    } finally {
      stop.abort();
      await Promise.allSettled([timer, changed]);
    }
    signal.throwIfAborted();
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
    await Promise.all([this.#service, ...(await this.#endpoints())].map(follow));
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

  /** Endpoints and slices, with all servers that live. */
  async #endpoints(): Promise<readonly Wanted[]> {
    const { service, endpoint } = this.own;
    if (endpoint === undefined) return [];
    const servers = (await this.#leases?.list()) ?? [endpoint];
    return ownEndpoints(service, servers).map((one) =>
      wanted(one.kind === "Endpoints" ? ENDPOINTS : ENDPOINT_SLICES, one),
    );
  }

  async #ensureEndpoints(): Promise<void> {
    const all = await this.#endpoints();
    for (const one of all) await this.#ensure(one);
    if (this.#leases !== undefined) await this.#deleteOthers(new Set(all.map(({ key }) => key)));
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
      const why = "it does not say where the servers listen";
      await this.#decide(`update ${definition.kind} ${keyOf(object)}`, why, ADAPTER, update);
    }
  }

  /** The slices of servers that have gone. */
  async #deleteOthers(kept: ReadonlySet<string>): Promise<void> {
    const { storage } = this.deps;
    const { namespace, name = "" } = this.#service.object.metadata;
    const { entries } = await storage.list(resourceKeys(ENDPOINT_SLICES).prefix(namespace));
    for (const { key, object, modRevision } of entries) {
      const isOwn = object.metadata.labels?.["kubernetes.io/service-name"] === name;
      if (!isOwn || kept.has(key)) continue;
      const remove = () => storage.delete(key, modRevision);
      await this.#decide(`delete EndpointSlice ${keyOf(object)}`, "its server has gone", ADAPTER, remove);
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
