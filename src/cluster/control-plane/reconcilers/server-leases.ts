import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { Clock } from "../../../util/clock.js";
import type { Storage } from "../../apiserver/storage/storage.js";
import type { ServerEndpoint } from "../own-endpoints.js";

/** Mirrors DefaultEndpointReconcilerTTL in pkg/controlplane/instance.go. */
const LEASE_SECONDS = 15;

/**
 * The servers that live: each keeps a key with a time to live, which it refreshes.
 *
 * Mirrors storageLeases in pkg/controlplane/reconcilers/lease.go. Differs: a key has the port, too, because servers on one machine
 * share an address.
 */
export class ServerLeases {
  readonly #key: string;
  readonly #ttlSeconds: number;
  #generation = 0;

  /** @param prefix `/registry/masterleases/` */
  constructor(
    readonly deps: { readonly storage: Storage; readonly clock: Clock },
    readonly prefix: string,
    readonly own: ServerEndpoint,
  ) {
    this.#key = `${prefix}${own.ip}:${own.ports[0]?.port}`;
    // The storage's time is the machine's; this server's clock can be slower.
    this.#ttlSeconds = Math.ceil(LEASE_SECONDS / Math.min(1, deps.clock.speed ?? 1));
  }

  /** Refreshes the key. Mirrors UpdateLease: the generation changes, or nothing would be written. */
  async update(): Promise<void> {
    const { storage } = this.deps;
    const { ip, ports } = this.own;
    const metadata = { generation: ++this.#generation };
    const lease = { kind: "Endpoints", apiVersion: "v1", metadata, subsets: [{ addresses: [{ ip }], ports }] };
    const options = { ttlSeconds: this.#ttlSeconds };
    for (;;) {
      const { entry } = await storage.get(this.#key);
      const written =
        entry === undefined
          ? await storage.create(this.#key, lease, options)
          : await storage.update(this.#key, lease, entry.modRevision, options);
      if (written !== undefined) return;
    }
  }

  /** Mirrors ListLeases. */
  async list(): Promise<readonly ServerEndpoint[]> {
    const { entries } = await this.deps.storage.list(this.prefix);
    return entries.flatMap(({ object }) => endpointOf(object) ?? []);
  }

  /** Mirrors RemoveLease. */
  async remove(): Promise<void> {
    const { storage } = this.deps;
    const { entry } = await storage.get(this.#key);
    if (entry !== undefined) await storage.delete(entry.key, entry.modRevision);
  }

  /** Waits until a server comes or goes. */
  async changed(afterRevision: number, signal: AbortSignal): Promise<void> {
    for await (const { type, previous } of this.deps.storage.watch(this.prefix, afterRevision, signal)) {
      if (type === "delete" || previous === undefined) return;
    }
  }
}

/** undefined for the lease of a kube-apiserver, which has no ports: its own endpoints are not ours to write. */
function endpointOf(lease: KubeObject): ServerEndpoint | undefined {
  const [subset] = (lease["subsets"] ?? []) as { addresses?: { ip: string }[]; ports?: ServerEndpoint["ports"] }[];
  const [address] = subset?.addresses ?? [];
  return address === undefined || subset?.ports === undefined ? undefined : { ip: address.ip, ports: subset.ports };
}
