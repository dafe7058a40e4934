import type { NodeCondition, NodeObject } from "../../staging/apimachinery/api/node.js";
import type { Constant } from "../../trace/events.js";
import type { LabError } from "../../util/errors.js";
import { durationText } from "../../util/release/fact.js";
import { constantsFor, factFor } from "../../util/release/facts.js";
import { KubeletObserver } from "../types/observer.js";

interface ReportPeriods {
  readonly kubeVersion: string;
  readonly updateMs: number;
  readonly reportMs: number;
}

/** Words the facts about the node's registration and status. */
export class NodeStatusObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/kubelet_node_status.go";

  registering<T>(nodeName: string, body: () => T): T {
    return this.step(`Register node ${nodeName}`, "registerWithAPIServer", body);
  }

  testing<T>(body: () => T): T {
    return this.trace.step("kubelet", "Test the new identity by reading this kubelet's own Node", {}, body);
  }

  tested(exists: boolean): void {
    const found = exists ? "it exists" : "it does not exist yet";
    const what = `answered: ${found}`;
    const why = "the API server accepts the node's certificate, and lets it read its own Node";
    this.trace.emit({ kind: "decision", what, why }, { actor: "apiserver" });
  }

  reportingReady<T>(nodeName: string, body: () => T): T {
    return this.step(`Report ${nodeName} Ready`, "fastStatusUpdateOnce", body, "pkg/kubelet/kubelet.go");
  }

  registerFailed({ message }: LabError, retryMs: number): void {
    this.error(message, { hint: `trying again in ${durationText(retryMs)}` });
  }

  registered(node: NodeObject, { spec }: NodeObject): void {
    const own = node.spec?.taints ?? [];
    const added = (spec?.taints ?? []).filter(({ key }) => own.every((one) => one.key !== key));
    const taints = added.map((taint) => `${taint.key}:${taint.effect}`).join(", ");
    const to = `registered${taints === "" ? "" : `, with the taint ${taints}: the API server's admission put it there`}`;
    const subject = `Node ${node.metadata.name ?? ""}`;
    this.trace.emit({ kind: "state", subject, what: "object", to }, { actor: "apiserver" });
  }

  existsAlready(nodeName: string): void {
    const what = `continue with the existing Node ${nodeName}`;
    this.decision(what, "it was registered before", "tryRegisterWithAPIServer");
  }

  notUpdated(attempts: number, failure: string): void {
    const hint = "It is tried again at the next heartbeat.";
    this.error(`node status was not updated in ${attempts} attempts: ${failure}`, { hint });
  }

  sameStatus(nodeName: string): void {
    const why = "the API server already has this status, to the second";
    this.decision(`do not send the status of ${nodeName}`, why, "tryUpdateNodeStatus");
  }

  /** @param isFirst this kubelet has sent none before */
  patches(nodeName: string, hasChanged: boolean, isFirst: boolean, periods: ReportPeriods): void {
    const unchanged = isFirst
      ? "nothing changed, but this kubelet has just started and has not reported its status yet"
      : "the report period is over, nothing changed";
    const why = hasChanged ? "it differs from what the API server has" : unchanged;
    this.decision(`patch the status of ${nodeName}`, why, "tryUpdateNodeStatus", { constants: constantsOf(periods) });
  }

  conditionChanged(nodeName: string, from: NodeCondition | undefined, to: NodeCondition): void {
    const { type, status, reason, message } = to;
    const text = `${status} (${reason}: ${message})`;
    this.state(`Node ${nodeName}`, type, text, undefined, { from: from?.status });
  }
}

/** Quotes the release's constants only if they are in use. */
function constantsOf({ kubeVersion, updateMs, reportMs }: ReportPeriods): readonly Constant[] {
  const isDefault =
    updateMs === factFor("nodeStatusUpdateFrequency", kubeVersion) &&
    reportMs === factFor("nodeStatusReportFrequency", kubeVersion);
  if (isDefault) return constantsFor(kubeVersion, "nodeStatusUpdateFrequency", "nodeStatusReportFrequency");
  return [
    { name: "nodeStatusUpdateFrequency", value: durationText(updateMs) },
    { name: "nodeStatusReportFrequency", value: durationText(reportMs) },
  ];
}
