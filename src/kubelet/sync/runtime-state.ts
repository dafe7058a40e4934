import type { Clock } from "../../util/clock.js";

/** How long the runtime may not answer before it counts as down. Mirrors maxWaitForContainerRuntime in pkg/kubelet/kubelet.go. */
export const MAX_WAIT_FOR_CONTAINER_RUNTIME_MS = 30_000;
/** Mirrors ErrNetworkUnknown in pkg/kubelet/errors.go. */
const NETWORK_STATE_UNKNOWN = "network state unknown";
/** The problem before the runtime's first check. */
const RUNTIME_NOT_CHECKED_YET = "container runtime status check may not have completed yet";

/** A check of known state, which makes no call. */
export type HealthCheck = () => { readonly healthy: true } | { readonly healthy: false; readonly message: string };

/**
 * The known state of the runtime and its network. Problems of the runtime stop the sync loop and make the node
 * NotReady; problems of the network make it NotReady and hold back pods that need a network of their own.
 *
 * Mirrors pkg/kubelet/runtime.go (runtimeState).
 */
export class RuntimeState {
  #lastRuntimeSyncMs: number | undefined;
  #networkError: string | undefined = NETWORK_STATE_UNKNOWN;
  #runtimeError: string | undefined;
  readonly #healthChecks: { readonly name: string; readonly check: HealthCheck }[] = [];

  constructor(
    readonly clock: Clock,
    readonly baseRuntimeSyncThresholdMs = MAX_WAIT_FOR_CONTAINER_RUNTIME_MS,
  ) {}

  addHealthCheck(name: string, check: HealthCheck): void {
    this.#healthChecks.push({ name, check });
  }

  /** Records that the runtime is ready. @param ms Unix ms */
  setRuntimeSync(ms: number): void {
    this.#lastRuntimeSyncMs = ms;
  }

  /** @param error undefined: the network is ready */
  setNetworkState(error: string | undefined): void {
    this.#networkError = error;
  }

  /** @param error undefined: the runtime is ready */
  setRuntimeState(error: string | undefined): void {
    this.#runtimeError = error;
  }

  /** Why pods cannot be synced, in upstream's words; empty if they can. */
  runtimeErrors(): string[] {
    const errors: string[] = [];
    if (this.#lastRuntimeSyncMs === undefined) errors.push(RUNTIME_NOT_CHECKED_YET);
    else if (this.#lastRuntimeSyncMs + this.baseRuntimeSyncThresholdMs <= this.clock.now()) {
      errors.push("container runtime is down");
    }
    for (const { name, check } of this.#healthChecks) {
      const health = check();
      if (!health.healthy) errors.push(`${name} is not healthy: ${health.message}`);
    }
    if (this.#runtimeError !== undefined) errors.push(this.#runtimeError);
    return errors;
  }

  /** Why pods cannot get a network, in upstream's words; empty if they can. */
  networkErrors(): string[] {
    return this.#networkError === undefined ? [] : [this.#networkError];
  }
}

/** Prints an aggregate of errors as Go does: several are in brackets. Mirrors k8s.io/apimachinery/pkg/util/errors (aggregate). */
export function aggregateText(errors: readonly string[]): string {
  const each = [...new Set(errors)];
  return each.length === 1 ? (each[0] ?? "") : `[${each.join(", ")}]`;
}
