import type { GoTable } from "./go-type.js";

/** Mirrors pkg/apis/core/types.go: a container, its environment, its probes and hooks. */
export const CONTAINER_TYPES: GoTable = {
  Container: `
    Name                     string
    Image                    string
    Command                  []string
    Args                     []string
    WorkingDir               string
    Ports                    []ContainerPort
    EnvFrom                  []EnvFromSource
    Env                      []EnvVar
    Resources                ResourceRequirements
    ResizePolicy             []ContainerResizePolicy since=1.27
    RestartPolicy            *string:ContainerRestartPolicy since=1.28
    RestartPolicyRules       []ContainerRestartRule since=1.34
    VolumeMounts             []VolumeMount
    VolumeDevices            []VolumeDevice
    LivenessProbe            *Probe
    ReadinessProbe           *Probe
    StartupProbe             *Probe
    Lifecycle                *Lifecycle
    TerminationMessagePath   string
    TerminationMessagePolicy string:TerminationMessagePolicy
    ImagePullPolicy          string:PullPolicy
    SecurityContext          *SecurityContext
    Stdin                    bool
    StdinOnce                bool
    TTY                      bool`,
  ContainerPort: `
    Name          string
    HostPort      int32
    ContainerPort int32
    Protocol      string:Protocol
    HostIP        string`,
  ResourceRequirements: `
    Limits   ResourceList
    Requests ResourceList
    Claims   []ResourceClaim since=1.26`,
  ContainerResizePolicy: `
    ResourceName  string:ResourceName
    RestartPolicy string:ResourceResizeRestartPolicy`,
  VolumeMount: `
    Name              string
    ReadOnly          bool
    RecursiveReadOnly *string:RecursiveReadOnlyMode since=1.30
    MountPath         string
    SubPath           string
    MountPropagation  *string:MountPropagationMode
    SubPathExpr       string`,
  VolumeDevice: `
    Name       string
    DevicePath string`,

  EnvFromSource: `
    Prefix       string
    ConfigMapRef *ConfigMapEnvSource
    SecretRef    *SecretEnvSource`,
  ConfigMapEnvSource: `
    LocalObjectReference LocalObjectReference inline
    Optional             *bool`,
  SecretEnvSource: `
    LocalObjectReference LocalObjectReference inline
    Optional             *bool`,
  EnvVar: `
    Name      string
    Value     string
    ValueFrom *EnvVarSource`,
  EnvVarSource: `
    FieldRef         *ObjectFieldSelector
    ResourceFieldRef *ResourceFieldSelector
    ConfigMapKeyRef  *ConfigMapKeySelector
    SecretKeyRef     *SecretKeySelector
    FileKeyRef       *FileKeySelector since=1.34`,
  ConfigMapKeySelector: `
    LocalObjectReference LocalObjectReference inline
    Key                  string
    Optional             *bool`,
  SecretKeySelector: `
    LocalObjectReference LocalObjectReference inline
    Key                  string
    Optional             *bool`,

  Probe: `
    Handler                       Handler inline until=1.22
    ProbeHandler                  ProbeHandler inline since=1.23
    InitialDelaySeconds           int32
    TimeoutSeconds                int32
    PeriodSeconds                 int32
    SuccessThreshold              int32
    FailureThreshold              int32
    TerminationGracePeriodSeconds *int64 since=1.21`,
  Handler: `
    Exec      *ExecAction
    HTTPGet   *HTTPGetAction
    TCPSocket *TCPSocketAction`,
  ProbeHandler: `
    Exec      *ExecAction
    HTTPGet   *HTTPGetAction
    TCPSocket *TCPSocketAction
    GRPC      *GRPCAction`,
  LifecycleHandler: `
    Exec      *ExecAction
    HTTPGet   *HTTPGetAction
    TCPSocket *TCPSocketAction
    Sleep     *SleepAction since=1.29`,
  Lifecycle: `
    PostStart  *Handler until=1.22
    PreStop    *Handler until=1.22
    PostStart  *LifecycleHandler since=1.23
    PreStop    *LifecycleHandler since=1.23
    StopSignal *string:Signal since=1.33`,
  ExecAction: `
    Command []string`,
  HTTPGetAction: `
    Path        string
    Port        IntOrString
    Host        string
    Scheme      string:URIScheme
    HTTPHeaders []HTTPHeader`,
  HTTPHeader: `
    Name  string
    Value string`,
  TCPSocketAction: `
    Port IntOrString
    Host string`,
  GRPCAction: `
    Port    int32
    Service *string`,
  SleepAction: `
    Seconds int64`,

  SecurityContext: `
    Capabilities             *Capabilities
    Privileged               *bool
    SELinuxOptions           *SELinuxOptions
    WindowsOptions           *WindowsSecurityContextOptions
    RunAsUser                *int64
    RunAsGroup               *int64
    RunAsNonRoot             *bool
    ReadOnlyRootFilesystem   *bool
    AllowPrivilegeEscalation *bool
    ProcMount                *string:ProcMountType
    SeccompProfile           *SeccompProfile
    AppArmorProfile          *AppArmorProfile since=1.30`,
  Capabilities: `
    Add  []string:Capability
    Drop []string:Capability`,
  ObjectFieldSelector: `
    APIVersion string
    FieldPath  string`,
  ResourceFieldSelector: `
    ContainerName string
    Resource      string
    Divisor       Quantity`,
};
