import { sidecarsOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Clock } from "../../util/clock.js";
import type { Container } from "../container/runtime.js";

/** Resolved once, when a container has ended. */
class Gate {
  readonly opened: Promise<void>;
  #open: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }
}

/**
 * The order in which the containers of a terminating pod end: first the regular ones, then the sidecars, in reverse
 * order of their start.
 *
 * Mirrors terminationOrdering in pkg/kubelet/kuberuntime/kuberuntime_termination_order.go (v1.29).
 */
export class TerminationOrdering {
  readonly #gates: ReadonlyMap<string, Gate>;
  /** the containers that a container waits for */
  readonly #prerequisites = new Map<string, readonly string[]>();

  constructor(
    pod: V1Pod,
    running: readonly Container[],
    readonly clock: Clock,
  ) {
    const names = running.map(({ name = "" }) => name);
    this.#gates = new Map(names.map((name) => [name, new Gate()]));
    const sidecars = sidecarsOf(pod).map(({ name }) => name);
    const others = names.filter((name) => !sidecars.includes(name));
    for (const [i, name] of sidecars.entries()) {
      this.#prerequisites.set(name, [...others, ...sidecars.slice(i + 1)]);
    }
  }

  /** @returns the whole seconds waited; at most `graceSeconds` */
  async waitForTurn(name: string, graceSeconds: number, signal: AbortSignal): Promise<number> {
    const gates = (this.#prerequisites.get(name) ?? []).flatMap((other) => this.#gates.get(other) ?? []);
    if (gates.length === 0) return 0;
    const startMs = this.clock.now();
    const over = new AbortController();
    const timer = this.clock.sleep(graceSeconds * 1000, AbortSignal.any([signal, over.signal]));
    try {
      await Promise.race([Promise.all(gates.map(({ opened }) => opened)), timer]);
    } finally {
      over.abort();
      // This abort cancels the timer if it lost the race.
      await Promise.allSettled([timer]);
    }
    return Math.trunc((this.clock.now() - startMs) / 1000);
  }

  containerTerminated(name: string): void {
    this.#gates.get(name)?.open();
  }
}
