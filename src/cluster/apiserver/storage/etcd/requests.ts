import { CompactedError } from "../storage.js";
import type { EtcdClient } from "./client.js";
import { asAnswer, EtcdError } from "./errors.js";
import { CompareTarget, type RangeResponse, type RequestOp, type TxnResponse } from "./messages.js";
import { COMPACT, RANGE, READ_TXN, TXN } from "./rpcs.js";

/** Mirrors newETCD3Check in storagebackend/factory/etcd3.go. */
export const HEALTH_KEY = Buffer.from("/registry/health");

type RangeRequest = Parameters<typeof RANGE.request.encode>[0];

interface WithHeader {
  readonly header: { readonly revision: bigint; readonly clusterId: bigint } | undefined;
}

/** etcd does not have the revisions that it had: its data was removed, or an older backup was put in their place. */
export interface LostRevisions {
  readonly had: number;
  readonly has: number;
}

/** Requests for keys. They throw what the API server answers when etcd refuses: StatusError, or CompactedError. */
export class EtcdRequests {
  #newestRevision = 1;
  #clusterId: bigint | undefined;

  constructor(
    readonly client: EtcdClient,
    /** how long a request waits */
    readonly timeoutMs: number,
    /** called before the answer that shows it is used */
    readonly onLost: (lost: LostRevisions) => void,
  ) {}

  /** The newest revision that etcd has named. */
  get newestRevision(): number {
    return this.#newestRevision;
  }

  range(request: RangeRequest): Promise<RangeResponse> {
    return this.#seen(this.client.call(RANGE, request, this), Number(request.revision ?? 0));
  }

  /** All at one revision, which each answer has. */
  async ranges(requests: readonly RangeRequest[]): Promise<readonly RangeResponse[]> {
    const [only] = requests;
    if (requests.length === 1 && only !== undefined) return [await this.range(only)];
    const success = requests.map((requestRange) => ({ requestRange }));
    const { header, responses } = await this.#seen(this.client.call(READ_TXN, { success }, this));
    return responses.map(({ responseRange }) => ({ kvs: [], more: false, count: 0n, ...responseRange, header }));
  }

  /** See `conditional`. */
  txn(key: string, modRevision: number, success: RequestOp): Promise<TxnResponse> {
    return this.#seen(this.client.call(TXN, conditional(key, modRevision, success), this));
  }

  async compact(revision: number): Promise<void> {
    await this.answer(this.client.call(COMPACT, { revision }, this), revision);
  }

  async #seen<T extends WithHeader>(response: Promise<T>, askedRevision = 0): Promise<T> {
    const before = this.#newestRevision;
    const value = await this.answer(response, askedRevision);
    this.#checkOrder(value, before);
    return value;
  }

  /** Requests are answered by a quorum: one that was sent after a revision was seen is never answered with an older one. */
  #checkOrder(value: WithHeader, before: number): void {
    const has = revisionOf(value);
    const clusterId = value.header?.clusterId;
    const isOther = this.#clusterId !== undefined && clusterId !== this.#clusterId;
    const had = this.#newestRevision;
    // After a loss, answers to requests from before it are no other loss.
    const isLost = isOther || (has < before && before <= had);
    this.#clusterId = clusterId;
    this.#newestRevision = isLost ? has : Math.max(had, has);
    if (isLost) this.onLost({ had, has });
  }

  /** Reads the newest revision: a watch's revision can be old, because its server can be behind the others. */
  async currentRevision(): Promise<number> {
    return revisionOf(await this.range({ key: HEALTH_KEY, countOnly: true }));
  }

  async answer<T>(response: Promise<T>, askedRevision = 0): Promise<T> {
    try {
      return await response;
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
      if (error.isCompacted) throw new CompactedError(askedRevision, askedRevision + 1);
      throw asAnswer(error);
    }
  }
}

/** If the key's revision is the expected one, does `success`; reads the key otherwise, if there may be one. */
export function conditional(key: string, modRevision: number, success: RequestOp) {
  const bytes = Buffer.from(key);
  const failure: RequestOp[] = modRevision === 0 ? [] : [{ requestRange: { key: bytes } }];
  const compare = [{ target: CompareTarget.MOD, key: bytes, modRevision }];
  return { compare, success: [success], failure };
}

/** The revision of the store when it answered. */
export function revisionOf({ header }: WithHeader): number {
  return Number(header?.revision ?? 0);
}
