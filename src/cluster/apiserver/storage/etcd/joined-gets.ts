import type { RangeResponse } from "./messages.js";
import type { EtcdRequests } from "./requests.js";

/** Mirrors DefaultMaxTxnOps in etcd's server/embed/config.go. */
const MAX_OPERATIONS = 128;

interface Waiting {
  readonly key: string;
  resolve(response: RangeResponse): void;
  reject(error: unknown): void;
}

/**
 * Sends the gets of one turn of the event loop to etcd in one transaction, because a call is more expensive than
 * what it reads. Each still gets the newest state: the transaction begins after all of them.
 * Differs: upstream sends each get alone.
 */
export class JoinedGets {
  #waiting: Waiting[] = [];

  constructor(readonly requests: EtcdRequests) {}

  /** The answer has one key, or none. @throws StatusError */
  get(key: string): Promise<RangeResponse> {
    if (this.#waiting.length === 0) setImmediate(() => this.#send());
    return new Promise((resolve, reject) => this.#waiting.push({ key, resolve, reject }));
  }

  #send(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += MAX_OPERATIONS) {
      void this.#ask(waiting.slice(from, from + MAX_OPERATIONS));
    }
  }

  async #ask(waiting: readonly Waiting[]): Promise<void> {
    try {
      const answers = await this.requests.ranges(waiting.map(({ key }) => ({ key: Buffer.from(key) })));
      for (const [index, { resolve }] of waiting.entries()) resolve(answers[index] as RangeResponse);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}
