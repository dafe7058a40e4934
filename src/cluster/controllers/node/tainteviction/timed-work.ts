import { currentScope, runInScope, type Scope } from "../../../../trace/scope.js";
import { Waker } from "../../../../util/async/waker.js";
import type { Clock } from "../../../../util/clock.js";

const EVICTION = {
  who: "kube-controller-manager",
  what: "evict the pods of a tainted node",
  setBy: "tolerationSeconds",
};

interface Work {
  readonly scope: Scope | undefined;
  readonly createdMs: number;
  readonly fireMs: number;
}

/**
 * Work that fires once per key at its time. A key that has fired stays known until it is cancelled, so that it does not
 * fire again. Mirrors pkg/controller/nodelifecycle/scheduler/timed_workers.go (TimedWorkerQueue).
 */
export class TimedWork {
  readonly #clock: Clock;
  readonly #waker = new Waker();
  readonly #waiting = new Map<string, Work>();
  readonly #fired = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does nothing if the key waits or has fired already. */
  add(key: string, createdMs: number, fireMs: number): void {
    if (this.#waiting.has(key) || this.#fired.has(key)) return;
    this.#waiting.set(key, { createdMs, fireMs, scope: currentScope() });
    this.#waker.wake();
  }

  /** When the waiting work of this key was created, Unix ms. */
  createdMs(key: string): number | undefined {
    return this.#waiting.get(key)?.createdMs;
  }

  /** @returns true if work was waiting */
  cancel(key: string): boolean {
    this.#fired.delete(key);
    return this.#waiting.delete(key);
  }

  /** @param fire a rejection lets the key be added again. @throws the signal's reason */
  async run(fire: (key: string) => Promise<void>, signal: AbortSignal): Promise<never> {
    for (;;) {
      const next = this.#next();
      if (next === undefined || next.fireMs > this.#clock.now()) {
        await this.#waker.wait(this.#clock, next?.fireMs, signal, EVICTION);
        continue;
      }
      signal.throwIfAborted();
      this.#waiting.delete(next.key);
      this.#fired.add(next.key);
      try {
        await runInScope(next.scope, () => fire(next.key));
      } catch {
        // `fire` has reported it.
        this.#fired.delete(next.key);
      }
    }
  }

  #next(): (Work & { readonly key: string }) | undefined {
    let next: (Work & { readonly key: string }) | undefined;
    for (const [key, work] of this.#waiting) {
      if (next === undefined || work.fireMs < next.fireMs) next = { key, ...work };
    }
    return next;
  }
}
