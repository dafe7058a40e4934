import type { Trace } from "../../trace/trace.js";
import { until } from "../../trace/until.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import type { RuntimeCondition } from "../container/generic-runtime.js";
import { NodeObserver } from "./node-observer.js";
import type { RuntimeState } from "./runtime-state.js";

/** How often the runtime's status is read. Upstream: wait.Until(kl.updateRuntimeUp, 5*time.Second). */
export const RUNTIME_UP_PERIOD_MS = 5_000;

export interface RuntimeUpDeps {
  readonly runtime: { status(signal: AbortSignal): Promise<readonly RuntimeCondition[]> };
  readonly state: RuntimeState;
  /** starts what must run before the first pod, once the runtime is up: upstream's initializeRuntimeDependentModules */
  readonly initialize?: () => Promise<void>;
  readonly clock: Clock;
  readonly trace: Trace;
}

/**
 * Reads the status of the runtime and its network, and records it. Reports only changes.
 *
 * Mirrors updateRuntimeUp in pkg/kubelet/kubelet.go.
 */
export class RuntimeUp {
  #lastProblem = "";
  #isInitialized = false;
  #setUp: () => void = () => {};
  /** Resolves when the runtime is ready for the first time: what depends on it starts then. */
  readonly firstUp = new Promise<void>((resolve) => {
    this.#setUp = resolve;
  });

  constructor(readonly deps: RuntimeUpDeps) {}

  /** @throws the signal's reason only */
  async update(signal: AbortSignal): Promise<void> {
    const { runtime, state, clock } = this.deps;
    let conditions: readonly RuntimeCondition[];
    try {
      conditions = await runtime.status(signal);
    } catch (error) {
      signal.throwIfAborted();
      // Without an answer, the last known state stays until it is too old.
      this.#report(`Container runtime sanity check failed: ${messageOf(error)}`);
      return;
    }
    const network = problemOf(conditions, "NetworkReady");
    state.setNetworkState(network === undefined ? undefined : `container runtime network not ready: ${network}`);
    const problem = problemOf(conditions, "RuntimeReady");
    state.setRuntimeState(problem === undefined ? undefined : `container runtime not ready: ${problem}`);
    if (problem !== undefined) {
      this.#report(`Container runtime not ready: ${problem}`);
      return;
    }
    if (!this.#isInitialized) await this.deps.initialize?.();
    this.#isInitialized = true;
    this.#setUp();
    state.setRuntimeSync(clock.now());
    this.#report(network === undefined ? "" : `Container runtime network not ready: ${network}`);
  }

  /** Checks every 5 s, starting at once, until `signal` aborts: then it rejects with its reason. */
  run(signal: AbortSignal): Promise<never> {
    return until(this.deps, RUNTIME_UP_PERIOD_MS, () => this.update(signal), signal, {
      what: "ask the runtime whether it works",
      setBy: "updateRuntimeUp",
    });
  }

  /** @param problem empty: the runtime is ready */
  #report(problem: string): void {
    if (problem === this.#lastProblem) return;
    this.#lastProblem = problem;
    const observer = new NodeObserver(this.deps.trace);
    if (problem === "") observer.runtimeReady();
    else observer.runtimeNotReady(problem);
  }
}

/** Prints a condition as RuntimeCondition.String in pkg/kubelet/container/runtime.go. @returns undefined when it is true */
function problemOf(conditions: readonly RuntimeCondition[], type: string): string | undefined {
  const condition = conditions.find((one) => one.type === type);
  if (condition === undefined) return "<nil>";
  if (condition.status) return undefined;
  return `${type}=false reason:${condition.reason} message:${condition.message}`;
}
