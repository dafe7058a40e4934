import type { Fact } from "../../../trace/events.js";
import type { Trace } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import { durationText } from "../../../util/release/fact.js";
import { constantsFor, factFor } from "../../../util/release/facts.js";

/** The result of one round. `renewed` and `created` wrote a renewTime; `failed` is retried after the interval. */
export type LeaseOutcome =
  | { readonly type: "created" | "renewed"; readonly renewTime: string }
  | { readonly type: "failed"; readonly why: string };

const UPSTREAM = { file: "staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go", func: "sync" };

interface ObservedLease {
  readonly nodeName: string;
  readonly kubeVersion: string;
  /** default: 40 */
  readonly leaseDurationSeconds?: number;
}

export function leaseDurationSeconds(options: Omit<ObservedLease, "nodeName">): number {
  return options.leaseDurationSeconds ?? factFor("leaseDurationSeconds", options.kubeVersion);
}

/** The time between two renewals, ms: NewMainKubelet passes it to the controller (nodeLeaseRenewIntervalFraction). */
export function renewIntervalMs(options: Omit<ObservedLease, "nodeName">): number {
  return leaseDurationSeconds(options) * 1000 * factFor("leaseRenewIntervalFraction", options.kubeVersion);
}

/** Words the facts of a lease controller. */
export class LeaseObserver {
  #explains = false;

  constructor(
    readonly trace: Trace,
    readonly options: ObservedLease,
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
    const { kubeVersion } = this.options;
    const seconds = leaseDurationSeconds(this.options);
    const isDefault = seconds === factFor("leaseDurationSeconds", kubeVersion);
    const constants = isDefault
      ? constantsFor(kubeVersion, "leaseDurationSeconds", "leaseRenewInterval")
      : [
          { name: "leaseDurationSeconds", value: `${seconds} s` },
          { name: "renewInterval", value: this.#every },
        ];
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
    return durationText(renewIntervalMs(this.options));
  }

  #emit(fact: Fact, every?: string): void {
    this.trace.emit(fact, { actor: "kubelet", ...defined({ every }) });
  }
}
