import { setMaxListeners } from "node:events";
import type { Trace } from "../../../../trace/trace.js";
import type { Clock } from "../../../../util/clock.js";
import type { Storage } from "../../storage/storage.js";
import { noteFault } from "./note-fault.js";

const WRITES: readonly (keyof Storage)[] = ["create", "update", "delete"];

/** The delay of a storage's writes. Reads and watches are not slower, because the API server answers them from its cache. */
export class SlowWrites {
  #delayMs = 0;
  #over = new AbortController();

  /** Writes that wait go on at once. @param delayMs 0: no delay */
  set(delayMs: number): void {
    this.#delayMs = delayMs;
    this.#over.abort();
    this.#over = new AbortController();
    // Any number of writes can wait.
    setMaxListeners(0, this.#over.signal);
  }

  /** The same storage, whose writes wait before they begin. */
  of<T extends Storage>(storage: T, clock: Clock, trace: Trace): T {
    const known = new Map<PropertyKey, unknown>();
    return new Proxy(storage, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        if (!known.has(name)) {
          const wanted = WRITES.some((write) => write === name);
          const call = (...given: unknown[]): unknown => Reflect.apply(member, target, given);
          const slow = async (...given: unknown[]) => {
            await this.#wait(String(given[0]), clock, trace);
            return call(...given);
          };
          known.set(name, wanted ? slow : call);
        }
        return known.get(name);
      },
    });
  }

  async #wait(key: string, clock: Clock, trace: Trace): Promise<void> {
    if (this.#delayMs === 0) return;
    noteFault(trace, `chaos delays the write of ${key} by ${this.#delayMs / 1000} s`);
    await clock.sleep(this.#delayMs, this.#over.signal).catch(() => {});
  }
}
