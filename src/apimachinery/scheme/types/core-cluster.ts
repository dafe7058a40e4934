import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/core/v1/types.go: nodes, namespaces, events. */
export const coreCluster: TypeTable = {
  package: "io.k8s.api.core.v1",
  types: {
    Node: `
      -- A machine that runs pods. The kubelet on it creates this object and keeps its status.
      TypeMeta
      1 metadata ObjectMeta -- The name is the machine's host name, unless the kubelet was told another.
      2 spec NodeSpec -- What is set for the node from outside, above all its taints.
      3 status NodeStatus -- What the kubelet reports.`,
    NodeSpec: `
      -- What the cluster wants of the node.
      1 podCIDR string -- Addresses for the node's pods.
      7 podCIDRs []string merge -- The same, one range for each IP family; the first one is podCIDR.
      3 providerID string -- The machine's name at its cloud provider.
      4 unschedulable bool -- No new pods: what kubectl cordon sets.
      5 taints []Taint -- Keep pods away that do not tolerate them.
      6 configSource *NodeConfigSource -- Deprecated: the kubelet no longer takes its configuration from the API.
      2 externalID string -- Deprecated: some old kubelets set it.`,
    Taint: `
      -- Keeps pods away from a node, unless they tolerate it.
      1 key string! -- What it is about: node.kubernetes.io/unreachable.
      2 value string
      3 effect string:TaintEffect! -- NoSchedule: no new pods; PreferNoSchedule: rather not; NoExecute: running pods leave, too.
      4 timeAdded *time -- When a NoExecute taint was set: tolerationSeconds count from here.`,
    NodeConfigSource: `
      2 configMap *ConfigMapNodeConfigSource`,
    ConfigMapNodeConfigSource: `
      1 namespace string!
      2 name string!
      3 uid string
      4 resourceVersion string
      5 kubeletConfigKey string!`,
    NodeStatus: `
      -- What the kubelet reports of its machine, at least every five minutes and whenever it changes.
      1  capacity ResourceList -- All the machine has: cpu, memory, pods, ephemeral-storage.
      2  allocatable ResourceList -- What pods may use of it.
      3  phase string:NodePhase -- Deprecated: no longer set.
      4  conditions []NodeCondition merge=type -- Ready, MemoryPressure, DiskPressure, PIDPressure.
      5  addresses []NodeAddress merge=type -- How the node is reached. Merged by type: a client that means all of them must replace the list.
      6  daemonEndpoints NodeDaemonEndpoints -- The kubelet's own port.
      7  nodeInfo NodeSystemInfo -- Kernel, operating system, versions.
      8  images []ContainerImage -- Images on the node.
      9  volumesInUse []string:UniqueVolumeName -- Volumes that pods have mounted.
      10 volumesAttached []AttachedVolume -- Volumes attached to the node.
      11 config *NodeConfigStatus -- Deprecated: see spec.configSource.`,
    NodeCondition: `
      -- One thing that is true, false or unknown about a node.
      1 type string:NodeConditionType! -- Ready, MemoryPressure, DiskPressure, PIDPressure, NetworkUnavailable.
      2 status string:ConditionStatus! -- True, False or Unknown.
      3 lastHeartbeatTime time -- When the kubelet last wrote it.
      4 lastTransitionTime time -- When the status last changed.
      5 reason string -- Why, in one word.
      6 message string -- Why, in words.`,
    NodeAddress: `
      1 type string:NodeAddressType! -- Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
      2 address string!`,
    NodeDaemonEndpoints: `
      1 kubeletEndpoint DaemonEndpoint`,
    DaemonEndpoint: `
      1 Port int32!`,
    NodeSystemInfo: `
      1 machineID string!
      2 systemUUID string!
      3 bootID string!
      4 kernelVersion string!
      5 osImage string!
      6 containerRuntimeVersion string!
      7 kubeletVersion string!
      8 kubeProxyVersion string!
      9 operatingSystem string!
      10 architecture string!`,
    ContainerImage: `
      1 names []string! optional
      2 sizeBytes int64`,
    AttachedVolume: `
      1 name string:UniqueVolumeName!
      2 devicePath string!`,
    NodeConfigStatus: `
      1 assigned *NodeConfigSource
      2 active *NodeConfigSource
      3 lastKnownGood *NodeConfigSource
      4 error string`,
    Namespace: `
      -- A room for names: most objects live in one.
      TypeMeta
      1 metadata ObjectMeta
      2 spec NamespaceSpec
      3 status NamespaceStatus`,
    NamespaceSpec: `
      1 finalizers []string:FinalizerName -- Who must clean up before the namespace may go.`,
    NamespaceStatus: `
      1 phase string:NamespacePhase default=Active -- Active or Terminating.
      2 conditions []NamespaceCondition merge=type`,
    NamespaceCondition: `
      1 type string:NamespaceConditionType!
      2 status string:ConditionStatus!
      4 lastTransitionTime time
      5 reason string
      6 message string`,
    Event: `
      -- A note that something happened to an object. Kept for an hour.
      TypeMeta
      1  metadata ObjectMeta!
      2  involvedObject ObjectReference! -- What it happened to.
      3  reason string -- What happened, in one word.
      4  message string -- What happened, in words.
      5  source EventSource -- Who says so.
      6  firstTimestamp time
      7  lastTimestamp time
      8  count int32 -- How often it happened.
      9  type string -- Normal or Warning.
      10 eventTime microtime
      11 series *EventSeries
      12 action string
      13 related *ObjectReference
      14 reportingComponent string!
      15 reportingInstance string!`,
    EventSeries: `
      1 count int32
      2 lastObservedTime microtime`,
    EventSource: `
      1 component string
      2 host string`,
    ComponentStatus: `
      TypeMeta
      1 metadata ObjectMeta
      2 conditions []ComponentCondition merge=type`,
    ComponentCondition: `
      1 type string!
      2 status string!
      3 message string
      4 error string`,
  },
};
