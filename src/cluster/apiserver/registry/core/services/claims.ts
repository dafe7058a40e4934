import type { Storage } from "../../../storage/storage.js";

const PREFIX = "/kubelab/services/";
/** Longer than a write can take. A server that is killed meanwhile leaves its claims until then. */
const CLAIM_SECONDS = 120;

/**
 * The addresses and ports of writes that have begun, in a storage that several servers share: two of them never give out the same.
 * What has been written is read from the services.
 *
 * Differs: upstream stores all that is allocated as one bitmap (pkg/registry/core/service/allocator/storage/storage.go), which
 * each server repairs every three minutes. Claims are closer to the IPAddress objects of later releases.
 */
export class AllocationClaims {
  constructor(readonly storage: Pick<Storage, "get" | "create" | "delete">) {}

  /** @param numbers `10.96.1.2`, `30080` @returns false, and claims none, if another write has one of them */
  async take(numbers: readonly string[]): Promise<boolean> {
    for (const [index, name] of numbers.entries()) {
      const claim = { kind: "RangeAllocation", apiVersion: "v1", metadata: { name } };
      if ((await this.storage.create(PREFIX + name, claim, { ttlSeconds: CLAIM_SECONDS })) !== undefined) continue;
      await this.release(numbers.slice(0, index));
      return false;
    }
    return true;
  }

  async release(numbers: readonly string[]): Promise<void> {
    for (const name of numbers) {
      const { entry } = await this.storage.get(PREFIX + name);
      if (entry !== undefined) await this.storage.delete(entry.key, entry.modRevision);
    }
  }
}
