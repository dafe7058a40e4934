import type { CallContext } from "../../../staging/cri/grpc/served-call.js";
import { RpcError } from "../../../staging/cri/grpc/status.js";
import { IMAGE_SERVICE, RUNTIME_SERVICE } from "../../../staging/cri/services.js";
import { untilAborted } from "../../../util/async/concurrency.js";
import type { Clock } from "../../../util/clock.js";
import { LabError } from "../../../util/errors.js";
import type { GrpcCode } from "../../../util/net/grpc-codes.js";
import { nearest } from "../../../util/text/nearest.js";
import { suggestion } from "./bad-request.js";

/** Answers that are no errors and still wrong: `empty` has no field set, `stale` is the one that came first. */
export const WRONG_ANSWERS = ["empty", "stale"] as const;

/** The effect before or instead of a call. */
export interface Fault {
  /** delay before the call, in ms */
  readonly delayMs?: number;
  /** the call never ends */
  readonly hangs?: boolean;
  /** the call fails with this error */
  readonly fail?: { readonly code: GrpcCode; readonly message: string };
  /** the call is answered wrongly: `empty` without being done, `stale` as the first one with the same request */
  readonly answer?: (typeof WRONG_ANSWERS)[number];
  /** the number of calls to disturb; undefined: all until further notice */
  readonly count?: number;
}

/** What is wrong with the node's disk. */
export interface DiskFault {
  /** how long each call that writes waits, in ms */
  readonly delayMs?: number;
  /** such calls fail, and so do the containers' own writes */
  readonly isReadonly?: boolean;
}

/** The calls that write to the metadata or the layers of containerd. */
const WRITING: readonly string[] = [
  "RunPodSandbox",
  "RemovePodSandbox",
  "CreateContainer",
  "StartContainer",
  "RemoveContainer",
  "PullImage",
  "RemoveImage",
];
const READ_ONLY = "write /var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db: read-only file system";
/** What grpc-go says about a socket that nobody listens on. */
const DOWN = 'connection error: desc = "transport: Error while dialing: connect: connection refused"';
/** What grpc-go says about a call whose server ends. */
const LOST = "error reading from server: EOF";
const NO_FAULT: DiskFault = {};
/** The key of calls that wait for the disk; no rpc has it. */
const DISK = "disk";
/** More answers are not kept for a fault. */
const MAX_STALE = 1_000;

/** `*` for every rpc, or a name as upstream writes it: `ListContainers`. */
export type RpcName = string;

const RPC_NAMES = [...Object.values(RUNTIME_SERVICE), ...Object.values(IMAGE_SERVICE)].map(({ name }) => name);

/** Disturbs calls, for lessons and tests. */
export class Faults {
  readonly #faults = new Map<RpcName, Fault>();
  /** ends the waits of calls whose fault is removed */
  readonly #released = new Map<RpcName, AbortController>();

  /** the first answers since a fault, by rpc and request */
  readonly #stale = new Map<RpcName, Map<string, unknown>>();
  #disk: DiskFault = NO_FAULT;
  #isDown = false;
  /** ends the running calls */
  readonly #running = new Set<(error: RpcError) => void>();

  /**
   * @param observer.onDisk called when the disk becomes read-only, and writable again
   * @param observer.onMet called with each call that a fault meets
   */
  constructor(
    readonly clock: Clock,
    readonly observer: {
      readonly onDisk?: (isReadonly: boolean) => void;
      readonly onMet?: (rpc: RpcName) => void;
    } = {},
  ) {}

  list(): ReadonlyMap<RpcName, Fault> {
    return this.#faults;
  }

  /** @param fault undefined removes the fault, and hanging calls continue @throws LabError USAGE for an unknown rpc */
  set(rpc: RpcName, fault: Fault | undefined): void {
    if (rpc !== "*" && !RPC_NAMES.includes(rpc)) throw unknownRpc(rpc);
    this.#faults.delete(rpc);
    if (fault !== undefined) this.#faults.set(rpc, fault);
    this.#stale.delete(rpc);
    this.#release(rpc);
  }

  /** Calls that wait for a slow disk go on. */
  setDisk(disk: DiskFault): void {
    this.#disk = disk;
    this.#release(DISK);
    this.observer.onDisk?.(disk.isReadonly === true);
  }

  /** The runtime's process ends: running calls fail, and later ones find nobody. Its containers live on, as under their shims. */
  setDown(isDown: boolean): void {
    this.#isDown = isDown;
    if (!isDown) return;
    for (const end of this.#running) end(new RpcError("Unavailable", LOST));
  }

  clear(): void {
    this.#faults.clear();
    this.#stale.clear();
    this.#isDown = false;
    this.setDisk(NO_FAULT);
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

  /**
   * Serves a call, with its faults first.
   * @param handle serves it without faults
   * @throws RpcError the configured error; the signal's reason
   */
  serve(call: CallContext, request: unknown, handle: () => unknown): unknown {
    const { name } = call.rpc;
    if (this.#isDown) {
      this.observer.onMet?.(name);
      throw new RpcError("Unavailable", DOWN);
    }
    const waiting = this.#disk !== NO_FAULT && WRITING.includes(name) ? this.#write(call.signal) : undefined;
    const found = this.#faults.size === 0 ? undefined : this.#claim(name);
    if (found !== undefined || waiting !== undefined) this.observer.onMet?.(name);
    else return call.rpc.isStream ? handle() : this.#untilDown(handle());
    const before = async () => {
      await waiting;
      if (found !== undefined) await this.#happen(found.fault, this.#releaseOf(found.name), call.signal);
    };
    if (call.rpc.isStream) {
      return (async function* () {
        await before();
        yield* handle() as AsyncIterable<unknown>;
      })();
    }
    return this.#untilDown(before().then(() => this.#answer(found, name, request, handle)));
  }

  /** The fault of this call, which counts it. */
  #claim(rpc: RpcName): { readonly name: RpcName; readonly fault: Fault } | undefined {
    const name = this.#faults.has(rpc) ? rpc : "*";
    const fault = this.#faults.get(name);
    if (fault === undefined) return undefined;
    if (fault.count !== undefined) {
      if (fault.count <= 1) this.#faults.delete(name);
      else this.#faults.set(name, { ...fault, count: fault.count - 1 });
    }
    return { name, fault };
  }

  async #answer(
    found: { readonly name: RpcName; readonly fault: Fault } | undefined,
    rpc: RpcName,
    request: unknown,
    handle: () => unknown,
  ): Promise<unknown> {
    const how = found?.fault.answer;
    if (how === "empty") return {};
    if (how === undefined || found === undefined) return handle();
    const known = this.#stale.get(found.name) ?? new Map<string, unknown>();
    this.#stale.set(found.name, known);
    const key = `${rpc} ${JSON.stringify(request, (_, value) => (typeof value === "bigint" ? String(value) : value))}`;
    if (!known.has(key) && known.size < MAX_STALE) known.set(key, await handle());
    return known.has(key) ? known.get(key) : handle();
  }

  /** A call that is under way fails when the runtime's process ends. */
  #untilDown(answer: unknown): unknown {
    if (!(answer instanceof Promise)) return answer;
    return new Promise((resolve, reject) => {
      this.#running.add(reject);
      answer.then(resolve, reject).finally(() => this.#running.delete(reject));
    });
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { delayMs = 0 } = this.#disk;
    if (delayMs > 0) {
      await this.clock.sleep(delayMs, AbortSignal.any([signal, this.#releaseOf(DISK)])).catch(() => {});
    }
    signal.throwIfAborted();
    if (this.#disk.isReadonly === true) throw new RpcError("Unknown", READ_ONLY);
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
