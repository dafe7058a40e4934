import type { V1Service } from "@kubernetes/client-node";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { Wire } from "../../apimachinery/wire.js";
import type { Random } from "../../util/random.js";
import type { AdmissionAttributes, AdmissionPlugin, AdmissionSubject } from "../auth/contracts.js";
import type { Registry } from "../registry/registry.js";

/** 10.96.0.0/12, kubeadm's range. */
const FIRST = 0x0a60_0000;
const SIZE = 1 << 20;

/**
 * Gives each new service a cluster IP that no other one has.
 *
 * Mirrors pkg/registry/core/service/ipallocator (allocator.go). Differs: an admission plugin, because the generic store
 * has no allocators; addresses come one after the other, from a random start. Nothing forwards to them.
 */
export class ClusterIpAllocator implements AdmissionPlugin {
  readonly name = "ClusterIPAllocator";
  #next: number;

  constructor(
    readonly registry: Registry,
    random: Random,
  ) {
    this.#next = Math.floor(random.float() * SIZE);
  }

  handles({ group, resource, subresource, operation }: AdmissionSubject): boolean {
    return group === "" && resource === "services" && subresource === "" && operation === "CREATE";
  }

  async admit({ object }: AdmissionAttributes): Promise<KubeObject | undefined> {
    const service: Wire<V1Service> | undefined = object;
    const spec = service?.spec;
    if (object === undefined || spec === undefined || spec.type === "ExternalName") return object;
    if ((spec.clusterIP ?? "") !== "" || (spec.clusterIPs ?? []).length > 0) return object;
    const { items } = await this.registry.store("services").list(undefined);
    const taken = new Set(items.map((one: Wire<V1Service>) => one.spec?.clusterIP));
    let ip = this.#take();
    while (taken.has(ip)) ip = this.#take();
    return { ...object, spec: { ...spec, clusterIP: ip } };
  }

  /** The next address; without the network's and the broadcast address, and 10.96.0.1 of the service kubernetes. */
  #take(): string {
    this.#next = (this.#next + 1) % SIZE;
    if (this.#next < 2 || this.#next === SIZE - 1) this.#next = 2;
    const address = FIRST + this.#next;
    return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join(".");
  }
}
