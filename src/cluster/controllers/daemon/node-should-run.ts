import { type NodeObject, taintText } from "../../../staging/apimachinery/api/node.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import { matchesRequiredNodeAffinity } from "../../../staging/apimachinery/corev1/node-affinity.js";
import { findUntoleratedTaint } from "../../../staging/apimachinery/corev1/tolerations.js";
import { type DaemonSet, daemonPodTolerations } from "./util/daemonset-util.js";

const FORBIDDING: ReadonlySet<string> = new Set(["NoSchedule", "NoExecute"]);
const EVICTING: ReadonlySet<string> = new Set(["NoExecute"]);

/** What a DaemonSet wants on a node. */
export interface Placement {
  /** A node without a pod gets one. */
  readonly shouldRun: boolean;
  /** A pod that is there stays. */
  readonly shouldContinueRunning: boolean;
  /** `it has the taint dedicated=db:NoSchedule, which the pods do not tolerate` */
  readonly why: string;
}

/** Pure. Resources and ports are left to the scheduler. Mirrors NodeShouldRunDaemonPod in pkg/controller/daemon/daemon_controller.go. */
export function nodeShouldRunDaemonPod({ spec }: DaemonSet, node: NodeObject): Placement {
  const { spec: podSpec } = spec?.template ?? {};
  const wanted = podSpec?.nodeName ?? "";
  if (wanted !== "" && wanted !== nameOf(node)) return nowhere(`the template names node ${wanted}`);
  if (!matchesRequiredNodeAffinity(podSpec, node)) {
    return nowhere("it does not match the node selector or the node affinity of the template");
  }
  const taints = node.spec?.taints ?? [];
  const tolerations = daemonPodTolerations(podSpec);
  const taint =
    findUntoleratedTaint(taints, tolerations, EVICTING) ?? findUntoleratedTaint(taints, tolerations, FORBIDDING);
  if (taint === undefined) return { shouldRun: true, shouldContinueRunning: true, why: "it fits" };
  const why = `it has the taint ${taintText(taint)}, which the pods do not tolerate`;
  return { shouldRun: false, shouldContinueRunning: taint.effect !== "NoExecute", why };
}

function nowhere(why: string): Placement {
  return { shouldRun: false, shouldContinueRunning: false, why };
}
