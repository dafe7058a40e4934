import type { NodeAgent } from "../../kubelet/app/node-agent.js";
import { nodeCondition, taintText } from "../../staging/apimachinery/api/node.js";
import type { Trace } from "../../trace/trace.js";
import { traceOfNode } from "../../trace/view.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { constantsFor, factFor } from "../../util/release/facts.js";
import { type NodeObserver, taintsOf } from "./node-observer.js";
import { patience } from "./patience.js";

export interface ResumeHeartbeatsDeps {
  readonly agent: NodeAgent;
  readonly observer: NodeObserver;
  readonly clock: Clock;
  readonly trace: Trace;
}

export interface ResumeHeartbeatsResult {
  readonly readyAfterSeconds: number;
  readonly untaintedAfterSeconds: number;
}

const FILE = "pkg/controller/nodelifecycle/node_lifecycle_controller.go";

/**
 * Revives a node that counts as gone, one kind of heartbeat at a time, to show their effects: the Lease alone changes
 * nothing; the status restores the conditions, and so the taints.
 * @throws LabError FAILED when the lease cannot be renewed, TIMED_OUT when the taints stay
 */
export async function resumeHeartbeats(
  deps: ResumeHeartbeatsDeps,
  options: { readonly nodeName: string; readonly kubeVersion: string },
  signal: AbortSignal,
): Promise<ResumeHeartbeatsResult> {
  const { agent, observer, clock, trace } = deps;
  const { nodeName, kubeVersion } = options;
  const startMs = clock.now();
  const since = () => Math.round((clock.now() - startMs) / 1000);
  const renewal = await agent.renewOnce(signal);
  if (renewal.type === "failed") {
    throw new LabError(
      "FAILED",
      `the Lease of ${nodeName} was not renewed: ${renewal.why}`,
      "Run the same command again.",
    );
  }
  const monitorMs = factFor("nodeMonitorPeriod", kubeVersion);
  await clock.sleep(monitorMs, signal);
  const status = nodeCondition(observer.view.node ?? { apiVersion: "v1", kind: "Node", metadata: {} }, "Ready")?.status;
  trace.emit(
    {
      kind: "decision",
      what: `${nodeName} is still ${status ?? "without conditions"} although its Lease is renewed`,
      why: "the controller sees the node alive again, but only the kubelet itself says that it is Ready: by its status",
      constants: constantsFor(kubeVersion, "nodeMonitorPeriod"),
      upstream: { file: FILE, func: "tryUpdateNodeHealth" },
    },
    { actor: "controller" },
  );
  const upstream = { file: "pkg/kubelet/kubelet_node_status.go", func: "updateNodeStatus" };
  const ofNode = traceOfNode(trace, nodeName);
  await ofNode.step("kubelet", `Report the status of ${nodeName}`, { upstream }, () => agent.heartbeat.update(signal));
  await observer.until((view) => nodeCondition(view.node ?? NO_NODE, "Ready")?.status === "True", signal);
  const readyAfterSeconds = since();
  const done = new AbortController();
  const late = clock.sleep(patience(clock, 6 * monitorMs), AbortSignal.any([signal, done.signal])).catch(() => {});
  const isFree = () => unreachableTaints(observer).length === 0;
  const freed = observer.until(isFree, AbortSignal.any([signal, done.signal])).catch(() => {});
  await Promise.race([freed, late]);
  done.abort();
  await Promise.all([freed, late]);
  signal.throwIfAborted();
  if (!isFree()) {
    const message = `${nodeName} is Ready and still tainted: ${unreachableTaints(observer).join(", ")}`;
    throw new LabError("TIMED_OUT", message, "Does the node lifecycle controller of this cluster run?");
  }
  return { readyAfterSeconds, untaintedAfterSeconds: since() };
}

const NO_NODE = { apiVersion: "v1", kind: "Node", metadata: {} } as const;

/** The taints of the lifecycle controller, which removes only its own. */
function unreachableTaints(observer: NodeObserver): string[] {
  return taintsOf(observer.view.node)
    .filter(({ key }) => key === "node.kubernetes.io/unreachable" || key === "node.kubernetes.io/not-ready")
    .map(taintText);
}
