import { CONTAINER_TYPES } from "./container-types.js";
import type { GoTable } from "./go-type.js";
import { SCHEDULING_TYPES } from "./scheduling-types.js";
import { VOLUME_TYPES } from "./volume-types.js";

/**
 * The types that Kubernetes programs have for a pod inside: what a manifest becomes once it is read and defaulted. Not
 * those of the API: no release promises anything of them, so each line says which releases have it.
 *
 * Mirrors pkg/apis/core/types.go of 1.20 and of 1.25 to 1.34 (Pod, PodSpec, Container, ...), and ObjectMeta and
 * LabelSelector of k8s.io/apimachinery/pkg/apis/meta/v1/types.go.
 */
export const POD_TYPES: GoTable = {
  ...CONTAINER_TYPES,
  ...VOLUME_TYPES,
  ...SCHEDULING_TYPES,

  Pod: `
    TypeMeta   v1.TypeMeta
    ObjectMeta v1.ObjectMeta json=metadata
    Spec       PodSpec
    Status     PodStatus`,
  "v1.TypeMeta": `
    Kind       string
    APIVersion string`,
  "v1.ObjectMeta": `
    Name                       string
    GenerateName               string
    Namespace                  string
    SelfLink                   string
    UID                        string:types.UID
    ResourceVersion            string
    Generation                 int64
    CreationTimestamp          Time
    DeletionTimestamp          *Time
    DeletionGracePeriodSeconds *int64
    Labels                     map
    Annotations                map
    OwnerReferences            []v1.OwnerReference
    Finalizers                 []string
    ClusterName                string until=1.23
    ManagedFields              []v1.ManagedFieldsEntry`,

  PodSpec: `
    Volumes                       []Volume
    InitContainers                []Container
    Containers                    []Container
    EphemeralContainers           []EphemeralContainer
    RestartPolicy                 string:RestartPolicy
    TerminationGracePeriodSeconds *int64
    ActiveDeadlineSeconds         *int64
    DNSPolicy                     string:DNSPolicy
    NodeSelector                  map
    ServiceAccountName            string
    AutomountServiceAccountToken  *bool
    NodeName                      string
    SecurityContext               *PodSecurityContext
    ImagePullSecrets              []LocalObjectReference
    Hostname                      string
    Subdomain                     string
    SetHostnameAsFQDN             *bool
    Affinity                      *Affinity
    SchedulerName                 string
    Tolerations                   []Toleration
    HostAliases                   []HostAlias
    PriorityClassName             string
    Priority                      *int32
    PreemptionPolicy              *string:PreemptionPolicy
    DNSConfig                     *PodDNSConfig
    ReadinessGates                []PodReadinessGate
    RuntimeClassName              *string
    Overhead                      ResourceList
    EnableServiceLinks            *bool
    TopologySpreadConstraints     []TopologySpreadConstraint
    OS                            *PodOS since=1.23
    SchedulingGates               []PodSchedulingGate since=1.26
    ResourceClaims                []PodResourceClaim since=1.26
    Resources                     *ResourceRequirements since=1.32
    HostnameOverride              *string since=1.34`,
  PodSecurityContext: `
    HostNetwork              bool
    HostPID                  bool
    HostIPC                  bool
    ShareProcessNamespace    *bool
    HostUsers                *bool since=1.25
    SELinuxOptions           *SELinuxOptions
    WindowsOptions           *WindowsSecurityContextOptions
    RunAsUser                *int64
    RunAsGroup               *int64
    RunAsNonRoot             *bool
    SupplementalGroups       []int64
    SupplementalGroupsPolicy *string:SupplementalGroupsPolicy since=1.31
    FSGroup                  *int64
    FSGroupChangePolicy      *string:PodFSGroupChangePolicy
    Sysctls                  []Sysctl
    SeccompProfile           *SeccompProfile
    AppArmorProfile          *AppArmorProfile since=1.30
    SELinuxChangePolicy      *string:PodSELinuxChangePolicy since=1.32`,
  PodStatus: `
    ObservedGeneration          int64 since=1.33
    Phase                       string:PodPhase
    Conditions                  []PodCondition
    Message                     string
    Reason                      string
    NominatedNodeName           string
    HostIP                      string
    HostIPs                     []HostIP since=1.28
    PodIPs                      []PodIP
    StartTime                   *Time
    QOSClass                    string:PodQOSClass
    InitContainerStatuses       []ContainerStatus
    ContainerStatuses           []ContainerStatus
    EphemeralContainerStatuses  []ContainerStatus
    Resize                      string:PodResizeStatus since=1.27
    ResourceClaimStatuses       []PodResourceClaimStatus since=1.28
    ExtendedResourceClaimStatus *PodExtendedResourceClaimStatus since=1.34`,

  SELinuxOptions: `
    User  string
    Role  string
    Type  string
    Level string`,
  WindowsSecurityContextOptions: `
    GMSACredentialSpecName *string
    GMSACredentialSpec     *string
    RunAsUserName          *string
    HostProcess            *bool since=1.22`,
  SeccompProfile: `
    Type             string:SeccompProfileType
    LocalhostProfile *string`,
  AppArmorProfile: `
    Type             string:AppArmorProfileType
    LocalhostProfile *string`,
  Sysctl: `
    Name  string
    Value string`,

  LocalObjectReference: `
    Name string`,
  HostAlias: `
    IP        string
    Hostnames []string`,
  PodDNSConfig: `
    Nameservers []string
    Searches    []string
    Options     []PodDNSConfigOption`,
  PodDNSConfigOption: `
    Name  string
    Value *string`,
  PodReadinessGate: `
    ConditionType string:PodConditionType`,
  PodOS: `
    Name string:OSName`,
  PodSchedulingGate: `
    Name string`,
};
