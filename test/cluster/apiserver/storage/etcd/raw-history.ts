import type { EtcdClient } from "../../../../../src/cluster/apiserver/storage/etcd/client.js";
import { prefixRange } from "../../../../../src/cluster/apiserver/storage/etcd/ranges.js";
import { RANGE } from "../../../../../src/cluster/apiserver/storage/etcd/rpcs.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";

const CALL = { timeoutMs: 30_000 };

/** What happened to a key at a revision. */
export interface Change {
  readonly revision: number;
  readonly type: "put" | "delete";
  readonly key: string;
  /** of the value; a deletion has that of the last one */
  readonly id: string;
}

/** A key's modification revision at some revision of the store, by key. */
export type RawState = ReadonlyMap<string, number>;

/** All changes of a prefix, found by reading the keys at each revision: no watch takes part. */
export class RawHistory {
  readonly changes: Change[] = [];
  readonly #states = new Map<number, RawState>();
  readonly #ids = new Map<string, string>();
  #revision: number;

  /** @param start a revision at which the prefix has no keys */
  constructor(
    readonly client: EtcdClient,
    readonly prefix: string,
    readonly idOf: (object: KubeObject) => unknown,
    start: number,
  ) {
    this.#revision = start;
    this.#states.set(start, new Map());
  }

  /** Reads up to the newest revision. @returns it */
  async read(): Promise<number> {
    const { header } = await this.client.call(RANGE, { ...prefixRange(this.prefix), countOnly: true }, CALL);
    const newest = Number(header?.revision ?? 0);
    while (this.#revision < newest) await this.#readNext();
    return newest;
  }

  /** The keys at a revision that was read. */
  stateAt(revision: number): RawState | undefined {
    return this.#states.get(revision);
  }

  async #readNext(): Promise<void> {
    const before = this.#states.get(this.#revision) ?? new Map();
    const revision = ++this.#revision;
    const { kvs } = await this.client.call(RANGE, { ...prefixRange(this.prefix), revision }, CALL);
    const state = new Map(kvs.map((kv) => [kv.key.toString(), Number(kv.modRevision)]));
    this.#states.set(revision, state);
    for (const { key, modRevision, value } of kvs) {
      if (Number(modRevision) !== revision) continue;
      const id = String(this.idOf(JSON.parse(value.toString())));
      this.#ids.set(key.toString(), id);
      this.changes.push({ revision, type: "put", key: key.toString(), id });
    }
    for (const key of before.keys()) {
      if (!state.has(key)) this.changes.push({ revision, type: "delete", key, id: this.#ids.get(key) ?? "" });
    }
  }
}
