import type { EtcdClient } from "./client.js";
import { EtcdError } from "./errors.js";
import { CompareTarget } from "./messages.js";
import { COMPACT, TXN } from "./rpcs.js";

const COMPACT_REV_KEY = Buffer.from("compact_rev_key");

/**
 * Compacts what is older than one interval. All servers of an etcd share a key whose version counts the compactions: only
 * one that knows the newest version compacts; the others wait for another interval.
 * Mirrors k8s.io/apiserver/pkg/storage/etcd3/compact.go.
 */
export class Compactor {
  #compactTime = 0;
  #revision = 0;

  constructor(
    readonly client: EtcdClient,
    readonly timeoutMs: number,
  ) {}

  /** Compacts every `intervalMs` until `signal` aborts (normal end). @param failed gets errors of etcd */
  async run(intervalMs: number, failed: (error: EtcdError) => void, signal: AbortSignal): Promise<void> {
    for (;;) {
      const isOver = await this.client.clock.sleep(intervalMs, signal).then(
        () => false,
        () => true,
      );
      if (isOver) return;
      await this.compact().catch((error: unknown) => {
        if (!(error instanceof EtcdError)) throw error;
        if (!signal.aborted) failed(error);
      });
    }
  }

  /** One turn. @returns the compacted revision; undefined if there is nothing to compact, or another server does it */
  async compact(): Promise<number | undefined> {
    const key = COMPACT_REV_KEY;
    const request = {
      compare: [{ target: CompareTarget.VERSION, key, version: this.#compactTime }],
      success: [{ requestPut: { key, value: Buffer.from(String(this.#revision)) } }],
      failure: [{ requestRange: { key } }],
    };
    const { header, succeeded, responses } = await this.client.call(TXN, request, this);
    const oldRevision = this.#revision;
    this.#revision = Number(header?.revision ?? 0);
    if (!succeeded) {
      this.#compactTime = Number(responses[0]?.responseRange?.kvs[0]?.version ?? 0);
      return undefined;
    }
    this.#compactTime++;
    // The first turn only learns the revision.
    if (oldRevision === 0) return undefined;
    await this.client.call(COMPACT, { revision: oldRevision }, this);
    return oldRevision;
  }
}
