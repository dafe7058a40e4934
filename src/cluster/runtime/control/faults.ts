import type { CallContext } from "../../../staging/cri/grpc/served-call.js";
import { RpcError } from "../../../staging/cri/grpc/status.js";
import { IMAGE_SERVICE, RUNTIME_SERVICE } from "../../../staging/cri/services.js";
import { untilAborted } from "../../../util/async/concurrency.js";
import type { Clock } from "../../../util/clock.js";
import { LabError } from "../../../util/errors.js";
import type { GrpcCode } from "../../../util/net/grpc-codes.js";
import { nearest } from "../../../util/text/nearest.js";
import { suggestion } from "./bad-request.js";

/** The effect before or instead of a call. */
export interface Fault {
  /** delay before the call, in ms */
  readonly delayMs?: number;
  /** the call never ends */
  readonly hangs?: boolean;
  /** the call fails with this error */
  readonly fail?: { readonly code: GrpcCode; readonly message: string };
  /** the number of calls to disturb; undefined: all until further notice */
  readonly count?: number;
}

/** `*` for every rpc, or a name as upstream writes it: `ListContainers`. */
export type RpcName = string;

const RPC_NAMES = [...Object.values(RUNTIME_SERVICE), ...Object.values(IMAGE_SERVICE)].map(({ name }) => name);

/** Disturbs calls, for lessons and tests. */
export class Faults {
  readonly #faults = new Map<RpcName, Fault>();
  /** ends the waits of calls whose fault is removed */
  readonly #released = new Map<RpcName, AbortController>();

  constructor(readonly clock: Clock) {}

  list(): ReadonlyMap<RpcName, Fault> {
    return this.#faults;
  }

  /** @param fault undefined removes the fault, and hanging calls continue @throws LabError USAGE for an unknown rpc */
  set(rpc: RpcName, fault: Fault | undefined): void {
    if (rpc !== "*" && !RPC_NAMES.includes(rpc)) throw unknownRpc(rpc);
    this.#faults.delete(rpc);
    if (fault !== undefined) this.#faults.set(rpc, fault);
    this.#release(rpc);
  }

  clear(): void {
    this.#faults.clear();
    for (const rpc of [...this.#released.keys()]) this.#release(rpc);
  }

  #release(rpc: RpcName): void {
    this.#released.get(rpc)?.abort();
    this.#released.delete(rpc);
  }

  #releaseOf(rpc: RpcName): AbortSignal {
    const release = this.#released.get(rpc) ?? new AbortController();
    this.#released.set(rpc, release);
    return release.signal;
  }

  /** Runs before a call is served. @throws RpcError the configured error; the signal's reason */
  before(call: CallContext): Promise<void> | undefined {
    if (this.#faults.size === 0) return undefined;
    const name = this.#faults.has(call.rpc.name) ? call.rpc.name : "*";
    const fault = this.#faults.get(name);
    if (fault === undefined) return undefined;
    if (fault.count !== undefined) {
      if (fault.count <= 1) this.#faults.delete(name);
      else this.#faults.set(name, { ...fault, count: fault.count - 1 });
    }
    return this.#happen(fault, this.#releaseOf(name), call.signal);
  }

  async #happen(fault: Fault, released: AbortSignal, signal: AbortSignal): Promise<void> {
    if (fault.delayMs !== undefined)
      await this.clock.sleep(fault.delayMs, AbortSignal.any([signal, released])).catch(() => {});
    if (fault.hangs === true) await untilAborted(AbortSignal.any([signal, released]));
    signal.throwIfAborted();
    if (fault.fail !== undefined) throw new RpcError(fault.fail.code, fault.fail.message);
  }
}

function unknownRpc(rpc: string): LabError {
  const like = suggestion(nearest(RPC_NAMES, rpc));
  const known = [...RPC_NAMES].sort().join(", ");
  const message = `there is no rpc named ${JSON.stringify(rpc)}: ${like}expected * or one of ${known}`;
  return new LabError("USAGE", message, "Write it as upstream does, or * for all.");
}
