import type { Storage } from "../apiserver/storage/storage.js";

const PREFIX = "/kubelab/nodes/";
const HOLDER = "kubelab/server";

/** Names for the nodes that a server starts with. */
export interface NodeNames {
  /**
   * The first names that no other server of the cluster has. A server that was killed gets its names again.
   * @param nameOf of a number from 1
   */
  claim(count: number, nameOf: (number: number) => string): Promise<readonly string[]>;
}

/** The only server of a cluster has all names. */
export const ALL_NODE_NAMES: NodeNames = {
  claim: async (count, nameOf) => Array.from({ length: count }, (_, index) => nameOf(index + 1)),
};

/** Keeps in the storage which server has which name, until it ends in order. */
export class SharedNodeNames implements NodeNames {
  readonly #claimed: string[] = [];

  constructor(
    readonly storage: Storage,
    readonly serverId: string,
  ) {}

  async claim(count: number, nameOf: (number: number) => string): Promise<readonly string[]> {
    const names: string[] = [];
    for (let number = 1; names.length < count; number++) {
      const name = nameOf(number);
      if (await this.#isOurs(name)) names.push(name);
    }
    this.#claimed.push(...names);
    return names;
  }

  async #isOurs(name: string): Promise<boolean> {
    const metadata = { name, annotations: { [HOLDER]: this.serverId } };
    const claim = { kind: "RangeAllocation", apiVersion: "v1", metadata };
    if ((await this.storage.create(PREFIX + name, claim)) !== undefined) return true;
    const { entry } = await this.storage.get(PREFIX + name);
    return entry?.object.metadata.annotations?.[HOLDER] === this.serverId;
  }

  /** Gives the names back. */
  async release(): Promise<void> {
    for (const name of this.#claimed.splice(0)) {
      const { entry } = await this.storage.get(PREFIX + name);
      if (entry !== undefined) await this.storage.delete(entry.key, entry.modRevision);
    }
  }
}
