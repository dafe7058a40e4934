import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/core/v1/types.go: containers and all that hangs on them. */
export const coreContainer: TypeTable = {
  package: "io.k8s.api.core.v1",
  types: {
    Container: `
      -- One container of a pod.
      1  name string! -- Unique within the pod; a DNS label. Cannot be changed.
      2  image string -- The image to run, with tag or digest.
      3  command []string -- What to run instead of the image's entrypoint. $(NAME) is replaced by the environment variable.
      4  args []string -- Arguments, instead of the image's own.
      5  workingDir string -- The directory to start in, instead of the image's.
      6  ports []ContainerPort merge=containerPort -- Ports the container listens on: mostly information, a port that is not listed is reachable as well.
      19 envFrom []EnvFromSource -- Config maps and secrets whose keys all become environment variables.
      7  env []EnvVar merge=name -- Environment variables.
      8  resources ResourceRequirements -- What the container needs (requests) and may use at most (limits).
      9  volumeMounts []VolumeMount merge=mountPath -- Where the pod's volumes appear in the container.
      21 volumeDevices []VolumeDevice merge=devicePath -- Block devices for the container.
      10 livenessProbe *Probe -- When it fails the kubelet restarts the container.
      11 readinessProbe *Probe -- While it fails the pod is taken out of its services.
      22 startupProbe *Probe -- The other probes wait until this one succeeded; when it fails the container is restarted.
      12 lifecycle *Lifecycle -- Hooks after the start and before the stop.
      13 terminationMessagePath string default=/dev/termination-log -- A file in the container whose content becomes the status message at the end. Default /dev/termination-log.
      20 terminationMessagePolicy string:TerminationMessagePolicy default=File -- File, or FallbackToLogsOnError to use the end of the log after a failure.
      14 imagePullPolicy string:PullPolicy -- Always, IfNotPresent or Never. Default: Always for the tag latest (or none), else IfNotPresent.
      15 securityContext *SecurityContext -- Privileges, user and capabilities; goes before the pod's.
      16 stdin bool -- Keep stdin open for attach.
      17 stdinOnce bool -- Close stdin after the first attached client leaves.
      18 tty bool -- Give the container a terminal; needs stdin.
      24 restartPolicy string:ContainerRestartPolicy -- Always makes an init container a sidecar, which goes on beside the others (since v1.29).`,
    EphemeralContainer: `
      1 ephemeralContainerCommon EphemeralContainerCommon inline
      2 targetContainerName string`,
    EphemeralContainerCommon: `
      1  name string!
      2  image string
      3  command []string
      4  args []string
      5  workingDir string
      6  ports []ContainerPort merge=containerPort
      19 envFrom []EnvFromSource
      7  env []EnvVar merge=name
      8  resources ResourceRequirements
      9  volumeMounts []VolumeMount merge=mountPath
      21 volumeDevices []VolumeDevice merge=devicePath
      10 livenessProbe *Probe
      11 readinessProbe *Probe
      22 startupProbe *Probe
      12 lifecycle *Lifecycle
      13 terminationMessagePath string default=/dev/termination-log
      20 terminationMessagePolicy string:TerminationMessagePolicy default=File
      14 imagePullPolicy string:PullPolicy
      15 securityContext *SecurityContext
      16 stdin bool
      17 stdinOnce bool
      18 tty bool`,
    ContainerPort: `
      1 name string -- A name that services can refer to.
      2 hostPort int32 -- The same port on the node.
      3 containerPort int32! -- The port in the pod's address.
      4 protocol string:Protocol default=TCP -- TCP, UDP or SCTP.
      5 hostIP string -- The node's address to bind the host port to.`,
    EnvVar: `
      1 name string! -- Name of the variable.
      2 value string -- Its value.
      3 valueFrom *EnvVarSource -- Where to take the value from.`,
    EnvVarSource: `
      1 fieldRef *ObjectFieldSelector
      2 resourceFieldRef *ResourceFieldSelector
      3 configMapKeyRef *ConfigMapKeySelector
      4 secretKeyRef *SecretKeySelector`,
    ObjectFieldSelector: `
      1 apiVersion string default=v1
      2 fieldPath string!`,
    ResourceFieldSelector: `
      1 containerName string
      2 resource string!
      3 divisor quantity`,
    ConfigMapKeySelector: `
      1 localObjectReference LocalObjectReference inline
      2 key string!
      3 optional *bool`,
    SecretKeySelector: `
      1 localObjectReference LocalObjectReference inline
      2 key string!
      3 optional *bool`,
    EnvFromSource: `
      1 prefix string
      2 configMapRef *ConfigMapEnvSource
      3 secretRef *SecretEnvSource`,
    ConfigMapEnvSource: `
      1 localObjectReference LocalObjectReference inline
      2 optional *bool`,
    SecretEnvSource: `
      1 localObjectReference LocalObjectReference inline
      2 optional *bool`,
    ResourceRequirements: `
      1 limits ResourceList -- The most the container may use.
      2 requests ResourceList -- What is set aside for it; absent: the limits.`,
    VolumeMount: `
      1 name string! -- A volume of the pod.
      2 readOnly bool
      3 mountPath string! -- Where in the container.
      4 subPath string -- A folder of the volume, instead of all of it.
      5 mountPropagation *string:MountPropagationMode
      6 subPathExpr string`,
    VolumeDevice: `
      1 name string!
      2 devicePath string!`,
    Probe: `
      -- How to ask a container for its health.
      1 handler ProbeHandler inline
      2 initialDelaySeconds int32 -- Seconds after the start before the first probe.
      3 timeoutSeconds int32 default=1 -- Seconds until a probe counts as failed.
      4 periodSeconds int32 default=10 -- Seconds between probes.
      5 successThreshold int32 default=1 -- Successes in a row until the state changes.
      6 failureThreshold int32 default=3 -- Failures in a row until the state changes.
      7 terminationGracePeriodSeconds *int64 -- Seconds to end in after this probe failed, instead of the pod's.`,
    ProbeHandler: `
      1 exec *ExecAction -- Run a command in the container; exit code 0 is healthy.
      2 httpGet *HTTPGetAction -- Send a GET; 200 to 399 is healthy.
      3 tcpSocket *TCPSocketAction -- Open a TCP connection.
      4 grpc *GRPCAction -- Call the gRPC health service.`,
    LifecycleHandler: `
      1 exec *ExecAction
      2 httpGet *HTTPGetAction
      3 tcpSocket *TCPSocketAction`,
    Lifecycle: `
      1 postStart *LifecycleHandler
      2 preStop *LifecycleHandler`,
    ExecAction: `
      1 command []string`,
    HTTPGetAction: `
      1 path string default=/
      2 port IntOrString!
      3 host string
      4 scheme string:URIScheme default=HTTP
      5 httpHeaders []HTTPHeader`,
    HTTPHeader: `
      1 name string!
      2 value string!`,
    TCPSocketAction: `
      1 port IntOrString!
      2 host string`,
    GRPCAction: `
      1 port int32!
      2 service *string! optional default=`,
    SecurityContext: `
      1  capabilities *Capabilities
      2  privileged *bool
      3  seLinuxOptions *SELinuxOptions
      10 windowsOptions *WindowsSecurityContextOptions
      4  runAsUser *int64
      8  runAsGroup *int64
      5  runAsNonRoot *bool
      6  readOnlyRootFilesystem *bool
      7  allowPrivilegeEscalation *bool
      9  procMount *string:ProcMountType
      11 seccompProfile *SeccompProfile`,
    Capabilities: `
      1 add []string:Capability
      2 drop []string:Capability`,
    SELinuxOptions: `
      1 user string
      2 role string
      3 type string
      4 level string`,
    WindowsSecurityContextOptions: `
      1 gmsaCredentialSpecName *string
      2 gmsaCredentialSpec *string
      3 runAsUserName *string
      4 hostProcess *bool`,
    SeccompProfile: `
      1 type string:SeccompProfileType!
      2 localhostProfile *string`,
    ContainerStatus: `
      -- What the kubelet last saw of a container.
      1 name string! -- The container of the spec.
      2 state ContainerState -- Waiting, running or terminated: one of them.
      3 lastState ContainerState -- How the run before this one ended.
      4 ready bool! -- The readiness probe succeeds.
      5 restartCount int32! -- How often the container was started again.
      6 image string! -- The image it runs.
      7 imageID string! -- The same, with its digest.
      8 containerID string -- runtime://id
      9 started *bool -- The startup probe succeeded.`,
    ContainerState: `
      1 waiting *ContainerStateWaiting
      2 running *ContainerStateRunning
      3 terminated *ContainerStateTerminated`,
    ContainerStateWaiting: `
      1 reason string
      2 message string`,
    ContainerStateRunning: `
      1 startedAt time`,
    ContainerStateTerminated: `
      1 exitCode int32!
      2 signal int32
      3 reason string
      4 message string
      5 startedAt time
      6 finishedAt time
      7 containerID string`,
  },
};
