import type { ControlPlane } from "../../cluster/control-plane/control-plane.js";
import type { RemoteControl } from "../../cluster/runtime/control/control.js";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { endProblems } from "./end-state.js";
import { INVARIANTS, type InvariantName, type Violation } from "./invariants.js";
import { PodHistory } from "./pod-history.js";
import type { Judgement } from "./verdict.js";

type DatedViolation = Violation & { readonly atMs: number };

/** Watches whether invariants hold, from beside the cluster: no fault meets its client, and its requests are in no trace. */
export class Guard implements Disposable {
  readonly #history = new PodHistory((violation) => this.report(violation));
  /** the first violation of each invariant */
  readonly #violations = new Map<InvariantName, DatedViolation>();
  readonly #stop = new AbortController();
  #client: LocalClient | undefined;
  #watch = new AbortController();

  constructor(
    readonly names: readonly InvariantName[],
    readonly clock: Clock,
    readonly trace: Trace,
  ) {}

  report(violation: Violation): void {
    const { invariant } = violation;
    if (!this.names.includes(invariant) || this.#violations.has(invariant)) return;
    this.#violations.set(invariant, { ...violation, atMs: this.clock.now() });
  }

  get isBroken(): boolean {
    return this.#violations.size > 0;
  }

  /** Watches the pods of this control plane, in place of the former one. @param plane undefined while it is down */
  follow(plane: Pick<ControlPlane, "loopback"> | undefined): void {
    this.#watch.abort();
    this.#client = plane?.loopback(this.trace);
    if (this.#client === undefined) return;
    this.#watch = new AbortController();
    void this.#read(this.#client, this.#watch.signal).catch(() => {});
  }

  async #read(client: LocalClient, signal: AbortSignal): Promise<void> {
    for await (const item of client.reflect<V1Pod>("pods", signal)) {
      if (!signal.aborted) this.#history.take(item);
    }
  }

  /** Watches the containers of a node. */
  followRuntime(node: string, control: RemoteControl): void {
    const read = async () => {
      for await (const { kind, id, pod = "", name = "", to, from } of control.changes(this.#stop.signal)) {
        if (kind !== "container" || (to !== "running" && from !== "running")) continue;
        this.#history.containerChanged(node, pod, name, id, to === "running");
      }
    };
    void read().catch(() => {});
  }

  /** What has not come to its end yet, of the invariants that are wanted. */
  async problems(): Promise<readonly Violation[]> {
    if (this.#client === undefined) {
      return [{ invariant: "nothing-waits-for-ever", what: "the API server is down" }];
    }
    const problems = await endProblems({ client: this.#client, history: this.#history });
    return problems.filter(({ invariant }) => this.names.includes(invariant));
  }

  /** One judgement for each invariant. @param startMs of the scenario, Unix ms */
  judgements(startMs: number): readonly Judgement[] {
    return this.names.map((name) => {
      const broken = this.#violations.get(name);
      const evidence = broken === undefined ? {} : { atMs: broken.atMs - startMs, fact: broken.what };
      return { condition: `${name} is broken`, holds: broken === undefined, wanted: "never", ...evidence };
    });
  }

  [Symbol.dispose](): void {
    this.#watch.abort();
    this.#stop.abort();
  }
}
