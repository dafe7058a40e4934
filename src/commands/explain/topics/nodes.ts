import type { Topic } from "../topic.js";

const SETTERS = "pkg/kubelet/nodestatus/setters.go";
const LIFECYCLE = "pkg/controller/nodelifecycle/node_lifecycle_controller.go";
const CONDITIONS =
  "kubectl get nodes -o 'custom-columns=NODE:.metadata.name,TYPE:.status.conditions[*].type,STATUS:.status.conditions[*].status'";
const REASONS = "kubectl get nodes -o 'custom-columns=NODE:.metadata.name,REASONS:.status.conditions[*].reason'";
const DIES = "kubelab lease --stop-after 2 --speed 20";

/** Conditions of nodes, and the events that are about them. */
export const NODES: readonly Topic[] = [
  {
    name: "KubeletReady",
    also: ["kubelet is posting ready status"],
    text: "The kubelet itself says that its node is Ready: the runtime answers, PLEG relists, the network is up. It repeats this with each status update.",
    facts: ["nodeStatusUpdateFrequency", "nodeStatusReportFrequency"],
    see: REASONS,
    file: SETTERS,
    labs: ["heartbeats", "status-manager"],
  },
  {
    name: "KubeletNotReady",
    text: "The kubelet is alive and says that its node is not Ready; the message lists why: the container runtime is down, the network is not ready, or PLEG is not healthy. Compare NodeStatusUnknown, which others write about a kubelet that is silent.",
    see: REASONS,
    file: SETTERS,
    labs: ["not-ready", "pleg-not-healthy", "cni-not-ready"],
  },
  {
    name: "NodeStatusUnknown",
    also: ["Kubelet stopped posting node status"],
    text: "The node lifecycle controller writes it: neither the Lease nor the status of the node has changed for the grace period. All conditions of the kubelet become Unknown, and the taint node.kubernetes.io/unreachable follows.",
    facts: ["nodeMonitorGracePeriod", "nodeMonitorPeriod", "leaseRenewInterval"],
    see: DIES,
    file: LIFECYCLE,
    labs: ["heartbeats", "not-ready", "lease-name"],
  },
  {
    name: "NodeStatusNeverUpdated",
    also: ["Kubelet never posted node status"],
    text: "The Node exists, and its kubelet has never reported this condition: someone else created the Node, or the kubelet has not come that far within the time for a start.",
    facts: ["nodeStartupGracePeriod"],
    see: REASONS,
    file: LIFECYCLE,
  },
  {
    name: "MemoryPressure",
    also: [
      "KubeletHasSufficientMemory",
      "KubeletHasInsufficientMemory",
      "NodeHasSufficientMemory",
      "NodeHasInsufficientMemory",
    ],
    text: "True while less memory is available than an eviction threshold, and five minutes longer. Pods of class BestEffort are not admitted, the node gets the taint memory-pressure, and pods are evicted. The events begin with Node, the condition's reasons with Kubelet.",
    facts: ["evictionMonitoringPeriod"],
    see: CONDITIONS,
    file: SETTERS,
    labs: ["eviction"],
  },
  {
    name: "DiskPressure",
    also: [
      "no space left on device",
      "KubeletHasNoDiskPressure",
      "KubeletHasDiskPressure",
      "NodeHasNoDiskPressure",
      "NodeHasDiskPressure",
    ],
    text: "True while the node's disk or the images' disk has less space or inodes than an eviction threshold. The kubelet removes unused containers and images first, then evicts pods; no pod is admitted meanwhile, except critical ones.",
    facts: ["evictionMonitoringPeriod"],
    see: CONDITIONS,
    file: SETTERS,
    labs: ["eviction"],
  },
  {
    name: "PIDPressure",
    also: ["KubeletHasSufficientPID", "KubeletHasInsufficientPID", "NodeHasSufficientPID", "NodeHasInsufficientPID"],
    text: "True while fewer process ids are available than the eviction threshold for them. The kubelet evicts pods, and the node gets the taint pid-pressure.",
    see: CONDITIONS,
    file: SETTERS,
    labs: ["eviction"],
  },
  {
    name: "NetworkUnavailable",
    text: "A condition that a network controller writes, not the kubelet: the node's routes are not set up. While it is True, the node has the taint network-unavailable.",
    see: CONDITIONS,
    file: LIFECYCLE,
  },
  {
    name: "NodeReady",
    also: ["NodeNotReady"],
    text: "Events of a change. The kubelet records NodeReady and NodeNotReady about its own condition; the node lifecycle controller records NodeNotReady about a silent node, and about each pod on it, whose Ready becomes False.",
    facts: ["nodeMonitorGracePeriod"],
    see: "kubectl get events -A --field-selector reason=NodeReady",
    file: LIFECYCLE,
    labs: ["heartbeats", "not-ready"],
  },
  {
    name: "RegisteredNode",
    also: ["RemovingNode"],
    text: "The node lifecycle controller has seen a new Node, or that a Node is gone. The controller starts a grace period for a new one.",
    facts: ["nodeStartupGracePeriod"],
    file: LIFECYCLE,
    labs: ["bootstrap"],
  },
  {
    name: "TaintManagerEviction",
    also: ["Marking for deletion Pod", "Cancelling deletion of Pod"],
    text: "A NoExecute taint of the node has no toleration in the pod, or the time of its toleration is over, so the controller deletes the pod. Pods get tolerations for not-ready and unreachable by default.",
    facts: ["defaultNotReadyTolerationSeconds", "defaultUnreachableTolerationSeconds", "taintEvictionComponent"],
    file: "pkg/controller/nodelifecycle/scheduler/taint_manager.go",
    labs: ["heartbeats", "not-ready"],
  },
  {
    name: "CIDRNotAvailable",
    text: "No address range for pods is left for a new node: the cluster's range divided by the size of a node's range gives the number of nodes.",
    facts: ["nodeCidrMaskSize"],
    file: "pkg/controller/nodeipam/ipam/range_allocator.go",
  },
  {
    name: "RuntimeReady",
    also: ["RuntimeNotReady", "container runtime is down"],
    text: "A condition that the container runtime reports through the CRI. While it is False, or the runtime does not answer, the kubelet starts nothing, and its node is not Ready.",
    see: "kubelab pleg --duration 5s",
    file: "pkg/kubelet/runtime.go",
    labs: ["not-ready", "exec-hangs"],
  },
  {
    name: "NetworkReady",
    also: ["NetworkPluginNotReady", "container runtime network not ready", "cni plugin not initialized"],
    text: "A condition of the runtime: its CNI plugin has a configuration. Without it the node is not Ready, and only pods in the host's network start.",
    see: "kubectl describe nodes",
    file: "pkg/kubelet/runtime.go",
    labs: ["cni-not-ready"],
  },
  {
    name: "LeaderElection",
    also: ["became leader"],
    text: "One of several controller managers or schedulers has got the Lease of that name, and works; the others wait until it is not renewed any more.",
    file: "staging/src/k8s.io/client-go/tools/leaderelection/leaderelection.go",
  },
  {
    name: "API server unreachable",
    also: [
      "without the API server",
      "no API server",
      "API server down",
      "API server is down",
      "API server unavailable",
      "control plane down",
    ],
    text: "Containers go on running, and the kubelet goes on restarting them: it works with the pods that it knew last, and static pods need no API. But no new pod comes, and neither status nor Lease gets out. If only one node is cut off, it becomes Unknown, and the taint unreachable has its pods deleted after their toleration; its kubelet learns of that when it is back.",
    facts: ["leaseDurationSeconds", "nodeMonitorGracePeriod", "defaultUnreachableTolerationSeconds"],
    see: "kubelab lease --stop-after 2 --speed 20",
    file: "pkg/kubelet/config/apiserver.go",
    labs: ["without-api-server", "heartbeats", "static-pods"],
  },
];
