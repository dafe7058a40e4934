import type { Topic } from "../topic.js";

const ONE = "pkg/scheduler/schedule_one.go";
const INTERFACE = "pkg/scheduler/framework/interface.go";

/** Reasons and events of the scheduler. */
export const SCHEDULING: readonly Topic[] = [
  {
    name: "Scheduled",
    also: ["Successfully assigned"],
    text: "The scheduler has bound the pod to a node, and its kubelet takes over. A static pod or one with spec.nodeName has no such event, because no scheduler was asked.",
    see: "kubelab journey",
    file: ONE,
    labs: ["scheduler", "pod-life"],
  },
  {
    name: "FailedScheduling",
    also: ["nodes are available", "Insufficient cpu", "Insufficient memory", "node(s) had untolerated taint"],
    text: "No node fits now. The message counts the nodes by cause: taints that are not tolerated, too little cpu or memory, node selector, affinity, ports. The pod is tried again when something changes that could help, at the latest after some minutes.",
    facts: ["podInitialBackoff", "podMaxBackoff", "podMaxInUnschedulablePods"],
    see: 'kubectl run too-big --image=nginx --overrides=\'{"spec":{"containers":[{"name":"a","image":"nginx","resources":{"requests":{"cpu":"9000"}}}]}}\' && kubectl describe pod too-big',
    file: ONE,
    labs: ["scheduler", "pending-forever"],
  },
  {
    name: "Unschedulable",
    also: ["UnschedulableAndUnresolvable"],
    text: "The verdict of a filter about a node, and the reason of PodScheduled if all nodes fail. Unschedulable means that ending other pods could help, so preemption looks at the node; UnschedulableAndUnresolvable means that it could not.",
    facts: ["fitTooBigIsUnresolvable", "preFilterReasonsAreCounted"],
    see: "kubectl get pods -A --field-selector spec.nodeName=",
    file: INTERFACE,
    labs: ["scheduler", "pending-forever"],
  },
  {
    name: "Preempted",
    also: ["preemption"],
    text: "A pod of higher priority did not fit anywhere, so the scheduler deleted this one on the node where that hurts least. The pod of higher priority is only nominated for the node: it is scheduled when the others have ended.",
    facts: ["preemptedNote"],
    file: "pkg/scheduler/framework/preemption/preemption.go",
    labs: ["scheduler"],
  },
  {
    name: "SchedulingGated",
    text: "spec.schedulingGates is not empty, so the scheduler does not try the pod yet. The one who set the gates removes them.",
    facts: ["podSchedulingReadiness"],
    see: "kubectl get pods -A --field-selector spec.nodeName=",
    file: "pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go",
  },
  {
    name: "SchedulerError",
    text: "The scheduler could not finish its work for the pod: a plugin failed, or the binding was refused. The pod goes back into the queue.",
    facts: ["podInitialBackoff", "podMaxBackoff"],
    see: "kubectl get events -A --field-selector reason=FailedScheduling",
    file: ONE,
  },
];
