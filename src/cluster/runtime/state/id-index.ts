import { invalid } from "../errors.js";

const ID_LENGTH = 64;

/**
 * Items by ID, in order of insertion. A unique prefix of an ID finds its item.
 *
 * Mirrors containerd's truncindex. Differs: a prefix is searched in all IDs; the kubelet never sends one.
 */
export class IdIndex<T> {
  readonly #byId = new Map<string, T>();

  get size(): number {
    return this.#byId.size;
  }

  add(id: string, value: T): void {
    this.#byId.set(id, value);
  }

  delete(id: string): void {
    this.#byId.delete(id);
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  values(): IterableIterator<T> {
    return this.#byId.values();
  }

  /** @throws RpcError InvalidArgument for an empty ID or an ambiguous prefix */
  find(idOrPrefix: string): T | undefined {
    const exact = this.#byId.get(idOrPrefix);
    if (exact !== undefined || idOrPrefix.length >= ID_LENGTH) return exact;
    if (idOrPrefix === "") throw invalid("prefix can't be empty");
    let found: T | undefined;
    for (const [id, value] of this.#byId) {
      if (!id.startsWith(idOrPrefix)) continue;
      if (found !== undefined) throw invalid(`multiple IDs found with provided prefix: ${idOrPrefix}`);
      found = value;
    }
    return found;
  }
}

/** Names of sandboxes or containers that can be used once. Mirrors containerd's registrar. */
export class NameRegister {
  readonly #ownerOf = new Map<string, string>();

  /** @returns the current owner, if it is not `owner` */
  reserve(name: string, owner: string): string | undefined {
    const taken = this.#ownerOf.get(name);
    if (taken !== undefined) return taken === owner ? undefined : taken;
    this.#ownerOf.set(name, owner);
    return undefined;
  }

  release(name: string): void {
    this.#ownerOf.delete(name);
  }
}
