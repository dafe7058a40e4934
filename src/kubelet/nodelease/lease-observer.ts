import { durationText } from "../../release/fact-table.js";
import { constantsFor, factFor } from "../../release/facts.js";
import type { Fact } from "../../trace/events.js";
import type { Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";

/** The result of one round. `renewed` and `created` wrote a renewTime; `failed` is retried after the interval. */
export type LeaseOutcome =
  | { readonly type: "created" | "renewed"; readonly renewTime: string }
  | { readonly type: "failed"; readonly why: string };

const UPSTREAM = { file: "staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go", func: "sync" };

/** Words the facts of a lease controller. */
export class LeaseObserver {
  #explains = false;

  constructor(
    readonly trace: Trace,
    readonly options: { readonly nodeName: string; readonly kubeVersion: string },
  ) {}

  /** Reports one round as a step, with its constants. */
  async step<T>(round: () => Promise<T>): Promise<T> {
    this.#explains = true;
    const title = `Renew the Lease of ${this.options.nodeName}`;
    return this.trace.step("kubelet", title, { upstream: UPSTREAM }, round);
  }

  stale(why: string): void {
    this.#emit({ kind: "note", text: `The cached Lease is stale (${why}); fetching it again.` });
  }

  conflict(why: string): void {
    this.#emit({ kind: "note", text: `Another client wrote the Lease (${why}): fetching it and trying again.` });
  }

  unavailable(why: string, retryMs: number): void {
    const hint = `trying again in ${durationText(retryMs)}`;
    this.#emit({ kind: "error", message: `cannot get Lease ${this.options.nodeName}: ${why}`, hint });
  }

  ended(outcome: LeaseOutcome): void {
    if (outcome.type === "failed") {
      const hint = "It is retried at the next renewal.";
      this.#emit({ kind: "error", message: `the Lease was not renewed: ${outcome.why}`, hint });
    } else {
      const to = `${outcome.renewTime}${outcome.type === "created" ? " (created)" : ""}`;
      this.#emit({ kind: "state", subject: `Lease ${this.options.nodeName}`, what: "renewTime", to }, this.#every);
      if (this.#explains) this.#explain();
    }
    this.#explains = false;
  }

  #explain(): void {
    const constants = constantsFor(this.options.kubeVersion, "leaseDurationSeconds", "leaseRenewInterval");
    const why = "a node whose Lease is not renewed for the grace period counts as gone";
    this.#emit({
      kind: "decision",
      what: `the next renewal is due in ${this.#every}`,
      why,
      constants,
      upstream: UPSTREAM,
    });
  }

  get #every(): string {
    return durationText(factFor("leaseRenewInterval", this.options.kubeVersion));
  }

  #emit(fact: Fact, every?: string): void {
    this.trace.emit(fact, { actor: "kubelet", ...defined({ every }) });
  }
}
