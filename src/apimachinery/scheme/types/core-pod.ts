import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/core/v1/types.go: pods, where they may run, and templates of pods. */
export const corePod: TypeTable = {
  package: "io.k8s.api.core.v1",
  types: {
    Pod: `
      -- Containers that run together on one node and share an address and volumes.
      TypeMeta
      1 metadata ObjectMeta -- Name, namespace, labels and the like.
      2 spec PodSpec -- What should run.
      3 status PodStatus -- What does run, as the kubelet reports it.`,
    PodSpec: `
      -- What should run in the pod, and where.
      1  volumes []Volume merge=name retainKeys -- Directories that containers of the pod can mount.
      20 initContainers []Container merge=name -- Run one after another, each to its end, before the containers start.
      2  containers []Container! merge=name -- What runs in the pod: at least one, fixed once the pod exists.
      34 ephemeralContainers []EphemeralContainer merge=name -- Added to a running pod for debugging, through the subresource ephemeralcontainers.
      3  restartPolicy string:RestartPolicy default=Always -- Always, OnFailure or Never: what the kubelet does when a container ends.
      4  terminationGracePeriodSeconds *int64 default=30 -- Seconds from SIGTERM to SIGKILL when the pod is deleted.
      5  activeDeadlineSeconds *int64 -- Seconds from the start after which the pod counts as failed.
      6  dnsPolicy string:DNSPolicy default=ClusterFirst -- ClusterFirst, ClusterFirstWithHostNet, Default or None.
      7  nodeSelector map:string -- Labels a node must have.
      8  serviceAccountName string -- Who the pod is towards the API server.
      9  serviceAccount string -- Deprecated: the same as serviceAccountName.
      21 automountServiceAccountToken *bool -- Whether the service account's token is mounted.
      10 nodeName string -- The node the pod runs on: set by the scheduler through a binding. Given at creation, no scheduler is asked.
      11 hostNetwork bool -- Use the node's network instead of one of its own.
      12 hostPID bool -- See the node's processes.
      13 hostIPC bool -- Use the node's IPC namespace.
      27 shareProcessNamespace *bool -- Containers of the pod see each other's processes.
      14 securityContext *PodSecurityContext default={} -- User, groups and the like for all containers.
      15 imagePullSecrets []LocalObjectReference merge=name -- Secrets with credentials of image registries.
      16 hostname string -- The pod's host name, instead of its own name.
      17 subdomain string -- With a headless service of this name the pod gets a full domain name.
      18 affinity *Affinity -- Which nodes, and which pods to be near to or far from.
      19 schedulerName string default=default-scheduler -- The scheduler that shall place the pod.
      22 tolerations []Toleration -- Taints of nodes that do not keep the pod away.
      23 hostAliases []HostAlias merge=ip -- Lines for the pod's hosts file.
      24 priorityClassName string -- How important the pod is, by name.
      25 priority *int32 -- The same as a number, filled in by the server.
      26 dnsConfig *PodDNSConfig -- Name servers, search domains and options.
      28 readinessGates []PodReadinessGate -- Conditions that must be True as well before the pod is ready.
      29 runtimeClassName *string -- The RuntimeClass that says how to run the containers.
      30 enableServiceLinks *bool -- Environment variables for the services of the namespace.
      31 preemptionPolicy *string:PreemptionPolicy -- Never, or PreemptLowerPriority.
      32 overhead ResourceList -- What the sandbox itself needs, from the RuntimeClass.
      33 topologySpreadConstraints []TopologySpreadConstraint merge=topologyKey -- How pods of a group spread over zones and nodes.
      35 setHostnameAsFQDN *bool -- The kernel's host name is the full domain name.
      36 os *PodOS -- The operating system of the containers.
      37 hostUsers *bool -- false: the pod runs in a user namespace of its own.
      38 schedulingGates []PodSchedulingGate merge=name -- Who must agree before the scheduler looks at the pod (since v1.27).`,
    PodStatus: `
      -- The pod's state, as the kubelet last reported it; it may lag behind.
      1  phase string:PodPhase -- Pending, Running, Succeeded, Failed or Unknown: the whole life in one word.
      2  conditions []PodCondition merge=type -- PodScheduled, Initialized, ContainersReady, Ready.
      3  message string -- Why the pod is in this state, in words.
      4  reason string -- Why, in one word: Evicted, NodeLost.
      11 nominatedNodeName string -- The node where room is being made for this pod.
      5  hostIP string -- Address of the node.
      6  podIP string -- Address of the pod.
      12 podIPs []PodIP merge=ip -- All its addresses, the first one is podIP.
      7  startTime *time -- When the kubelet took the pod on, before it pulled any image.
      10 initContainerStatuses []ContainerStatus -- One for each init container.
      8  containerStatuses []ContainerStatus -- One for each container.
      9  qosClass string:PodQOSClass -- Guaranteed, Burstable or BestEffort, from requests and limits.
      13 ephemeralContainerStatuses []ContainerStatus -- One for each ephemeral container.`,
    PodCondition: `
      1 type string:PodConditionType!
      2 status string:ConditionStatus!
      3 lastProbeTime time
      4 lastTransitionTime time
      5 reason string
      6 message string`,
    PodIP: `
      1 ip string`,
    PodTemplate: `
      TypeMeta
      1 metadata ObjectMeta
      2 template PodTemplateSpec`,
    ReplicationController: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec ReplicationControllerSpec
      3 status ReplicationControllerStatus`,
    ReplicationControllerSpec: `
      1 replicas *int32 default=1
      4 minReadySeconds int32
      2 selector map:string
      3 template *PodTemplateSpec`,
    ReplicationControllerStatus: `
      1 replicas int32!
      2 fullyLabeledReplicas int32
      4 readyReplicas int32
      5 availableReplicas int32
      3 observedGeneration int64
      6 conditions []ReplicationControllerCondition merge=type`,
    ReplicationControllerCondition: `
      1 type string!
      2 status string!
      3 lastTransitionTime time
      4 reason string
      5 message string`,
    PodTemplateSpec: `
      1 metadata ObjectMeta
      2 spec PodSpec`,
    PodSecurityContext: `
      1  seLinuxOptions *SELinuxOptions
      8  windowsOptions *WindowsSecurityContextOptions
      2  runAsUser *int64
      6  runAsGroup *int64
      3  runAsNonRoot *bool
      4  supplementalGroups []int64
      5  fsGroup *int64
      7  sysctls []Sysctl
      9  fsGroupChangePolicy *string:PodFSGroupChangePolicy
      10 seccompProfile *SeccompProfile`,
    Sysctl: `
      1 name string!
      2 value string!`,
    HostAlias: `
      1 ip string
      2 hostnames []string`,
    PodDNSConfig: `
      1 nameservers []string
      2 searches []string
      3 options []PodDNSConfigOption`,
    PodDNSConfigOption: `
      1 name string
      2 value *string`,
    PodReadinessGate: `
      1 conditionType string:PodConditionType!`,
    PodSchedulingGate: `
      1 name string!`,
    PodOS: `
      1 name string:OSName!`,
    Toleration: `
      -- Lets a pod onto, or stay on, nodes with a taint.
      1 key string -- The taint's key; empty with Exists: every taint.
      2 operator string:TolerationOperator -- Equal (default) or Exists.
      3 value string
      4 effect string:TaintEffect -- NoSchedule, PreferNoSchedule, NoExecute; empty: all.
      5 tolerationSeconds *int64 -- With NoExecute: how long to stay; absent: for ever.`,
    TopologySpreadConstraint: `
      1 maxSkew int32!
      2 topologyKey string!
      3 whenUnsatisfiable string:UnsatisfiableConstraintAction!
      4 labelSelector *LabelSelector
      5 minDomains *int32
      6 nodeAffinityPolicy *string:NodeInclusionPolicy
      7 nodeTaintsPolicy *string:NodeInclusionPolicy
      8 matchLabelKeys []string`,
    Affinity: `
      1 nodeAffinity *NodeAffinity
      2 podAffinity *PodAffinity
      3 podAntiAffinity *PodAntiAffinity`,
    NodeAffinity: `
      1 requiredDuringSchedulingIgnoredDuringExecution *NodeSelector
      2 preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm`,
    PodAffinity: `
      1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
      2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm`,
    PodAntiAffinity: `
      1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
      2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm`,
    WeightedPodAffinityTerm: `
      1 weight int32!
      2 podAffinityTerm PodAffinityTerm!`,
    PodAffinityTerm: `
      1 labelSelector *LabelSelector
      2 namespaces []string
      3 topologyKey string!
      4 namespaceSelector *LabelSelector`,
    PreferredSchedulingTerm: `
      1 weight int32!
      2 preference NodeSelectorTerm!`,
    NodeSelector: `
      1 nodeSelectorTerms []NodeSelectorTerm!`,
    NodeSelectorTerm: `
      1 matchExpressions []NodeSelectorRequirement
      2 matchFields []NodeSelectorRequirement`,
    NodeSelectorRequirement: `
      1 key string!
      2 operator string:NodeSelectorOperator!
      3 values []string`,
    TopologySelectorTerm: `
      1 matchLabelExpressions []TopologySelectorLabelRequirement`,
    TopologySelectorLabelRequirement: `
      1 key string!
      2 values []string!`,
  },
};
