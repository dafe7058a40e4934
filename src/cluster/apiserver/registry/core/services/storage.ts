import type { KubeObject } from "../../../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../../../staging/apimachinery/api/object-key.js";
import type { Service } from "../../../../../staging/apimachinery/api/objects.js";
import { resourceKeys } from "../../../storage/keys.js";
import type { Begun, HookDeps, HookRequest, StoreHooks } from "../../rest/store-hooks.js";
import { Allocators, type Transaction } from "./alloc.js";
import { AllocationClaims } from "./claims.js";
import {
  draftOf,
  needsClusterIp,
  needsHealthCheck,
  needsNodePort,
  nodePortsOf,
  type ServiceDraft,
  sameList,
} from "./service.js";

const FOLDER = "pkg/registry/core/service/storage";
const SERVICES = resourceKeys({ resource: "services", namespaced: true });
const ENDPOINTS = resourceKeys({ resource: "endpoints", namespaced: true });

interface Attempt {
  readonly draft: ServiceDraft;
  readonly transaction: Transaction;
}

/**
 * Allocates addresses and ports around writes of services, and removes a deleted service's Endpoints.
 *
 * Mirrors pkg/registry/core/service/storage/storage.go (beginCreate, beginUpdate, afterDelete). What is allocated is read
 * from the stored services: before the first write, and if other servers share the storage, with each write that allocates.
 * Differs: upstream stores it as well; here no second truth can disagree.
 */
export class ServiceStorage implements StoreHooks {
  readonly #deps: HookDeps;
  /** undefined: no other server allocates */
  readonly #claims: AllocationClaims | undefined;
  #allocators: Promise<Allocators> | undefined;

  constructor(deps: HookDeps) {
    this.#deps = deps;
    if (deps.storage.isShared) this.#claims = new AllocationClaims(deps.storage);
  }

  async beginCreate(object: KubeObject, { dryRun }: HookRequest): Promise<Begun> {
    return this.#allocate("allocateCreate", dryRun, (allocators) => {
      const draft = draftOf(object as Service);
      normalizeClusterIps(draft, undefined);
      return { draft, transaction: allocators.allocateCreate(draft, dryRun) };
    });
  }

  async beginUpdate(object: KubeObject, oldObject: KubeObject, { dryRun }: HookRequest): Promise<Begun> {
    return this.#allocate("allocateUpdate", dryRun, (allocators) => {
      const draft = draftOf(object as Service);
      const old = oldObject as Service;
      patchAllocatedValues(draft, old);
      normalizeClusterIps(draft, old);
      return { draft, transaction: allocators.allocateUpdate(draft, old, dryRun) };
    });
  }

  /** Allocates; and again, if another server has or gets one of the numbers. @throws StatusError 422 */
  async #allocate(func: string, dryRun: boolean, attempt: (allocators: Allocators) => Attempt): Promise<Begun> {
    // Another server may have released what a service requests.
    if (this.#claims !== undefined) this.#allocators = undefined;
    for (;;) {
      const allocators = await this.#ready();
      const begun = attempt(allocators);
      const { allocated, revert } = begun.transaction;
      if (this.#claims === undefined || dryRun || allocated.length === 0) return this.#begun(begun, allocators, func);
      if (!(await this.#claims.take(allocated))) {
        revert();
        for (const number of allocated) allocators.occupyNumber(number);
        continue;
      }
      // A service that was written before the claim is seen now.
      const current = await this.#load();
      if (!allocated.some((number) => current.hasNumber(number))) return this.#begun(begun, allocators, func);
      await this.#claims.release(allocated);
      this.#allocators = Promise.resolve(current);
    }
  }

  async afterDelete(object: KubeObject): Promise<void> {
    const allocators = await this.#ready();
    const released = allocators.release(object as Service);
    if (released.length > 0) {
      this.#report(`release ${released.join(", ")}`, object, "the service was deleted", "releaseAllocatedResources");
    }
    // A new service of this name must not get the old one's endpoints while the controller lags behind.
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

  #begun({ draft, transaction }: Attempt, allocators: Allocators, func: string): Begun {
    const { allocated, released } = transaction;
    const finish = async (isStored: boolean) => {
      if (isStored) transaction.commit();
      else transaction.revert();
      // The remaining claims expire.
      await this.#claims?.release(allocated).catch(() => {});
      if (!isStored) return;
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
