import { defined } from "../../../../util/defined.js";
import { constantsFor, factFor } from "../../../../util/release/facts.js";
import { asController, type SharedDeps } from "../../support/shared-deps.js";
import type { HealthVerdict } from "./health.js";

const FILE = "pkg/controller/nodelifecycle/node_lifecycle_controller.go";

/** Reports what the controller observes of a node's heartbeats, and the constants of its decisions. */
export class HealthReport {
  constructor(readonly deps: Pick<SharedDeps, "trace" | "kubeVersion">) {}

  /** The conditions were set to Unknown. @param fact what caused it, and the id by which its write names it */
  lapse(
    name: string,
    verdict: HealthVerdict,
    fact: { readonly id: string; readonly causedBy: string | undefined },
  ): void {
    const { trace, kubeVersion } = this.deps;
    const neverReported = verdict.observedReady.reason === undefined && verdict.observedReady.status === "Unknown";
    const upstream = { file: FILE, func: "tryUpdateNodeHealth" };
    const decision = {
      kind: "decision",
      what: `set the conditions of node ${name} to Unknown`,
      why: neverReported
        ? `${seconds(verdict.silentMs)} since its creation, and the kubelet never posted a status or renewed a lease`
        : `${seconds(verdict.silentMs)} since the controller last saw the lease renewed or a status posted`,
      constants: constantsFor(
        kubeVersion,
        neverReported ? "nodeStartupGracePeriod" : "nodeMonitorGracePeriod",
        "nodeMonitorPeriod",
      ),
      upstream,
    } as const;
    // Pictures show the node as it is once the decision is told.
    trace.because(fact, () => this.change(name, verdict.observedReady.status, "Unknown"));
    trace.emit(decision, { actor: "controller", ...defined(fact) });
  }

  /** Reports a change of Ready. */
  change(name: string, from: string | undefined, to: string | undefined): void {
    if (from === undefined || to === undefined || from === to) return;
    asController(this.deps.trace, {
      kind: "state",
      subject: `node ${name}`,
      what: "Ready",
      from,
      to,
      upstream: { file: FILE, func: "tryUpdateNodeHealth" },
    });
  }

  /** Reports a late heartbeat in each pass, so that a learner can watch the grace period run. */
  silence(name: string, { silentMs, graceMs, currentReady }: HealthVerdict): void {
    const { kubeVersion, trace } = this.deps;
    const isOverdue = silentMs > factFor("leaseRenewInterval", kubeVersion) * 1.5;
    if (!isOverdue || currentReady?.status === "Unknown") return;
    const counts = currentReady === undefined ? "starting" : currentReady.status === "True" ? "Ready" : "not Ready";
    asController(
      trace,
      {
        kind: "decision",
        what: `keep counting node ${name} as ${counts}`,
        why: `no heartbeat for ${seconds(silentMs)}, ${seconds(graceMs - silentMs)} of the grace period left`,
        constants: constantsFor(
          kubeVersion,
          currentReady === undefined ? "nodeStartupGracePeriod" : "nodeMonitorGracePeriod",
        ),
        upstream: { file: FILE, func: "tryUpdateNodeHealth" },
      },
      2,
    );
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
