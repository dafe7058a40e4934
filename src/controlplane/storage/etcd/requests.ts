import { CompactedError } from "../storage.js";
import type { EtcdClient } from "./client.js";
import { asAnswer, EtcdError } from "./errors.js";
import { CompareTarget, type RangeResponse, type RequestOp, type TxnResponse } from "./messages.js";
import { COMPACT, RANGE, READ_TXN, TXN } from "./rpcs.js";

type RangeRequest = Parameters<typeof RANGE.request.encode>[0];

interface WithHeader {
  readonly header: { readonly revision: bigint } | undefined;
}

/** Requests for keys. They throw what the API server answers when etcd refuses: StatusError, or CompactedError. */
export class EtcdRequests {
  #newestRevision = 1;

  constructor(
    readonly client: EtcdClient,
    /** how long a request waits */
    readonly timeoutMs: number,
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

  /** If the key's revision is the expected one, does `success`; reads the key otherwise, if there may be one. */
  txn(key: string, modRevision: number, success: RequestOp): Promise<TxnResponse> {
    const bytes = Buffer.from(key);
    const failure = modRevision === 0 ? [] : [{ requestRange: { key: bytes } }];
    const compare = [{ target: CompareTarget.MOD, key: bytes, modRevision }];
    return this.#seen(this.client.call(TXN, { compare, success: [success], failure }, this));
  }

  async compact(revision: number): Promise<void> {
    await this.answer(this.client.call(COMPACT, { revision }, this), revision);
  }

  async #seen<T extends WithHeader>(response: Promise<T>, askedRevision = 0): Promise<T> {
    const value = await this.answer(response, askedRevision);
    this.#newestRevision = Math.max(this.#newestRevision, revisionOf(value));
    return value;
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

/** The revision of the store when it answered. */
export function revisionOf({ header }: WithHeader): number {
  return Number(header?.revision ?? 0);
}
