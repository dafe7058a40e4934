import type { KubeObject } from "../../../../apimachinery/api/meta.js";
import { keyOf } from "../../../../client-go/cache/key.js";
import { resourceKeys } from "../../keys.js";
import type { Begun, HookDeps, HookRequest, StoreHooks } from "../../store-hooks.js";
import { Allocators, type Transaction } from "./alloc.js";
import {
  draftOf,
  needsClusterIp,
  needsHealthCheck,
  needsNodePort,
  nodePortsOf,
  type Service,
  type ServiceDraft,
  sameList,
} from "./service.js";

const FOLDER = "pkg/registry/core/service/storage";
const SERVICES = resourceKeys({ resource: "services", namespaced: true });
const ENDPOINTS = resourceKeys({ resource: "endpoints", namespaced: true });

/**
 * Allocates addresses and ports around writes of services, and removes a deleted service's Endpoints.
 *
 * Mirrors pkg/registry/core/service/storage/storage.go (beginCreate, beginUpdate, afterDelete). What is allocated is read
 * from the stored services before the first write. Differs: upstream stores it as well, because there several API servers
 * allocate; here it lives in memory only, so that no second truth can disagree.
 */
export class ServiceStorage implements StoreHooks {
  readonly #deps: HookDeps;
  #allocators: Promise<Allocators> | undefined;

  constructor(deps: HookDeps) {
    this.#deps = deps;
  }

  async beginCreate(object: KubeObject, { dryRun }: HookRequest): Promise<Begun> {
    const draft = draftOf(object as Service);
    normalizeClusterIps(draft, undefined);
    const allocators = await this.#ready();
    return this.#begun(draft, allocators, allocators.allocateCreate(draft, dryRun), "allocateCreate");
  }

  async beginUpdate(object: KubeObject, oldObject: KubeObject, { dryRun }: HookRequest): Promise<Begun> {
    const draft = draftOf(object as Service);
    const old = oldObject as Service;
    patchAllocatedValues(draft, old);
    normalizeClusterIps(draft, old);
    const allocators = await this.#ready();
    return this.#begun(draft, allocators, allocators.allocateUpdate(draft, old, dryRun), "allocateUpdate");
  }

  async afterDelete(object: KubeObject): Promise<void> {
    const allocators = await this.#ready();
    const released = allocators.release(object as Service);
    if (released.length > 0) {
      this.#report(`release ${released.join(", ")}`, object, "the service was deleted", "releaseAllocatedResources");
    }
    // A new service of this name must not begin with the old one's endpoints, should the controller lag behind.
    const { namespace, name = "" } = object.metadata;
    const { storage } = this.#deps;
    const { entry } = await storage.get(ENDPOINTS.key(namespace, name));
    if (entry === undefined || (await storage.delete(entry.key, entry.modRevision)) === undefined) return;
    this.#report("delete the Endpoints", object, "the service was deleted", "afterDelete");
  }

  /** Reads once what the stored services have. A failed read is tried again by the next write. */
  #ready(): Promise<Allocators> {
    this.#allocators ??= this.#load().catch((error: unknown) => {
      this.#allocators = undefined;
      throw error;
    });
    return this.#allocators;
  }

  async #load(): Promise<Allocators> {
    const { storage, random, kubeVersion } = this.#deps;
    const allocators = new Allocators(random, kubeVersion);
    const { entries } = await storage.list(SERVICES.resourcePrefix);
    for (const { object } of entries) allocators.occupy(object as Service);
    return allocators;
  }

  #begun(draft: ServiceDraft, allocators: Allocators, transaction: Transaction, func: string): Begun {
    const finish = (isStored: boolean) => {
      if (!isStored) {
        transaction.revert();
        return;
      }
      transaction.commit();
      const { allocated, released } = transaction;
      const { ips, ports } = allocators;
      if (allocated.length > 0) {
        const why = `${ips.used} of ${ips.max} cluster IPs and ${ports.used} node ports are used`;
        this.#report(`allocate ${allocated.join(", ")}`, draft, why, func);
      }
      if (released.length > 0) {
        this.#report(`release ${released.join(", ")}`, draft, "the service no longer uses it", func);
      }
    };
    return { object: draft, finish };
  }

  #report(what: string, service: KubeObject, why: string, func: string): void {
    const upstream = { file: `${FOLDER}/${func === "afterDelete" ? "storage.go" : "alloc.go"}`, func };
    const fact = { kind: "decision", what: `${what} of service ${keyOf(service)}`, why, upstream } as const;
    this.#deps.trace.emit(fact, { actor: "apiserver", level: 2 });
  }
}

/**
 * Keeps clusterIP and clusterIPs in step for clients that know only the first. Mirrors normalizeClusterIPs in
 * pkg/registry/core/service/storage/storage.go.
 */
function normalizeClusterIps({ spec }: ServiceDraft, old: Service | undefined): void {
  const ip = spec.clusterIP ?? "";
  if (old === undefined) {
    if (ip !== "" && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = [ip];
    return;
  }
  const [oldIp, oldIps] = [old.spec?.clusterIP ?? "", old.spec?.clusterIPs ?? []];
  if (oldIps.length > 0 && (spec.clusterIPs ?? []).length === 0 && oldIp === ip) spec.clusterIPs = [...oldIps];
  if (oldIp === ip || !sameList(oldIps, spec.clusterIPs)) return;
  if (oldIp !== "" && ip === "") delete spec.clusterIPs;
  else spec.clusterIPs = [ip];
}

/**
 * Keeps what was allocated if an update leaves it out, so that the manifest of a service can be sent again.
 * Mirrors patchAllocatedValues in pkg/registry/core/service/storage/storage.go.
 */
function patchAllocatedValues(draft: ServiceDraft, old: Service): void {
  const { spec } = draft;
  const before = old.spec ?? {};
  const service = draft as Service;
  if (needsClusterIp(old) && needsClusterIp(service)) {
    if ((spec.clusterIP ?? "") === "" && before.clusterIP !== undefined) spec.clusterIP = before.clusterIP;
    if ((spec.clusterIPs ?? []).length === 0 && spec.clusterIP === before.clusterIP && before.clusterIPs) {
      spec.clusterIPs = [...before.clusterIPs];
    }
  }
  if (needsNodePort(old) && needsNodePort(service)) {
    const isUsed = new Set(nodePortsOf(service));
    const byName = new Map((before.ports ?? []).map(({ name = "", nodePort = 0 }) => [name, nodePort]));
    for (const port of spec.ports ?? []) {
      const known = byName.get(port.name ?? "") ?? 0;
      if ((port.nodePort ?? 0) === 0 && known !== 0 && !isUsed.has(known)) port.nodePort = known;
    }
  }
  if (needsHealthCheck(old) && needsHealthCheck(service) && (spec.healthCheckNodePort ?? 0) === 0) {
    if (before.healthCheckNodePort !== undefined) spec.healthCheckNodePort = before.healthCheckNodePort;
  }
}
