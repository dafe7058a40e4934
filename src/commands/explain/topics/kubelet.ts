import type { Topic } from "../topic.js";

const IMAGES = "pkg/kubelet/images/image_manager.go";
const CONTAINER = "pkg/kubelet/kuberuntime/kuberuntime_container.go";
const MANAGER = "pkg/kubelet/kuberuntime/kuberuntime_manager.go";
const KUBELET = "pkg/kubelet/kubelet.go";
const EVENTS = "pkg/kubelet/events/event.go";

/** Events that a kubelet records, about a pod or about its node, and those of its PLEG. */
export const KUBELET_EVENTS: readonly Topic[] = [
  {
    name: "Pulling",
    text: "The kubelet has asked the runtime to pull the image: it is not on the node, or the pull policy is Always (the default for no tag and for latest). Pulled or Failed follows.",
    see: "kubelab journey",
    file: IMAGES,
    labs: ["images", "pod-life"],
  },
  {
    name: "Pulled",
    text: "The image is there: pulled just now, or already present on the machine. The message says which, and how long a pull took.",
    facts: ["pulledEvent"],
    see: "kubelab journey",
    file: IMAGES,
    labs: ["images"],
  },
  {
    name: "Created",
    text: "The runtime has created the container; it does not run yet. Started follows.",
    facts: ["createdEventColon"],
    see: "kubelab journey",
    file: CONTAINER,
    labs: ["pod-life"],
  },
  {
    name: "Started",
    text: "The runtime has started the container's process. Whether it is healthy is for its probes to say.",
    see: "kubelab journey",
    file: CONTAINER,
    labs: ["pod-life"],
  },
  {
    name: "Killing",
    also: ["Stopping container"],
    text: "The kubelet stops a container: its preStop hook runs, then it gets its stop signal (SIGTERM), and SIGKILL after the grace period. The message says why: the pod is deleted, a probe failed, or the container's definition changed.",
    facts: ["minimumGracePeriod", "preStopWithinOverride"],
    see: "kubelab journey --delete",
    file: CONTAINER,
    labs: ["pod-workers", "pod-life"],
  },
  {
    name: "BackOff",
    text: "The kubelet waits before it starts a container or pulls an image again. The message says which; see CrashLoopBackOff and ImagePullBackOff.",
    facts: ["containerBackOffPeriod", "maxContainerBackOff"],
    file: EVENTS,
    labs: ["crash-loop", "images"],
  },
  {
    name: "Unhealthy",
    also: ["Liveness probe failed", "Readiness probe failed", "Startup probe failed", "LivenessProbe", "StartupProbe"],
    text: "A probe of a container has failed once. After failureThreshold failures in a row, a liveness or startup probe makes the kubelet kill the container (the trace names that decision LivenessProbe or StartupProbe), and a readiness probe makes it not ready. A readiness probe never restarts anything.",
    file: "pkg/kubelet/prober/prober.go",
    labs: ["probes"],
  },
  {
    name: "ProbeWarning",
    text: "An HTTP probe was redirected to another host. The kubelet does not follow, and counts the probe as a success.",
    file: "pkg/kubelet/prober/prober.go",
  },
  {
    name: "SandboxChanged",
    also: ["Pod sandbox changed, it will be killed and re-created"],
    text: "The pod's sandbox does not run any more, or is not what the pod needs, so the kubelet stops what is left and makes a new one; all containers start again, and the pod gets a new address. Most often the pause container died or the runtime was started again.",
    file: MANAGER,
    labs: ["pleg", "sync-loop"],
  },
  {
    name: "FailedPodSandBoxStatus",
    also: ["Unable to get pod sandbox status"],
    text: "The sandbox was made, but the runtime does not say what became of it, so the kubelet does not know the pod's address. The next sync asks again.",
    file: MANAGER,
  },
  {
    name: "FailedMount",
    also: ["Unable to attach or mount volumes", "MountVolume.SetUp failed for volume"],
    text: "A volume is not ready, and no container starts before it is: a ConfigMap or Secret is missing, a host path does not exist, or a token could not be got. The kubelet tries again.",
    file: "pkg/kubelet/volumemanager/volume_manager.go",
  },
  {
    name: "FailedSync",
    also: ["Error syncing pod"],
    text: "A pod worker's sync ended with an error. The worker tries again after a pause, shorter if the network was the cause.",
    facts: ["podWorkerBackOffPeriod", "podWorkerBackOffJitterFactor", "podWorkerTransientBackOffPeriod"],
    see: "kubelab pod-worker --duration 5s",
    file: "pkg/kubelet/pod_workers.go",
    labs: ["pod-workers"],
  },
  {
    name: "NetworkNotReady",
    also: ["network is not ready"],
    text: "The runtime says that the node has no network yet, so the kubelet starts only pods in the host's network. The CNI plugin's configuration is missing or broken.",
    file: KUBELET,
    labs: ["cni-not-ready"],
  },
  {
    name: "FailedToMakePodDataDirectories",
    text: "The kubelet could not make the pod's folders below its root folder: no space, no rights, or a file in the way.",
    file: KUBELET,
  },
  {
    name: "FailedToRetrieveImagePullSecret",
    also: ["Unable to retrieve some image pull secrets"],
    text: "A Secret that imagePullSecrets names does not exist or cannot be read. The pull is tried without it, because the image may be public.",
    facts: ["pullSecretEvent"],
    file: "pkg/kubelet/kubelet_pods.go",
    labs: ["images"],
  },
  {
    name: "FailedValidation",
    also: ["Error validating pod"],
    text: "A static pod, or one from a URL, is not valid, or has the name of another pod of the node. The kubelet leaves it out.",
    file: "pkg/kubelet/config/config.go",
    labs: ["static-pods"],
  },
  {
    name: "InvalidEnvironmentVariableNames",
    text: "envFrom names a ConfigMap or Secret with keys that cannot be variable names. Those keys are skipped, and the container starts without them.",
    file: "pkg/kubelet/kubelet_pods.go",
  },
  {
    name: "ExceededGracePeriod",
    also: ["Container runtime did not kill the pod within specified grace period"],
    text: "The runtime had the grace period and some more to stop a pod that had to go, and did not. The kubelet keeps trying.",
    facts: ["minimumGracePeriod"],
    file: "pkg/kubelet/pod_workers.go",
  },
  {
    name: "DNSConfigForming",
    also: ["Nameserver limits were exceeded", "Search Line limits were exceeded"],
    text: "The pod's resolv.conf would exceed the limits: three nameservers, and six search domains with 256 characters (since v1.26: 32 with 2,048). The rest is left out.",
    file: "pkg/kubelet/network/dns/dns.go",
  },
  {
    name: "MissingClusterDNS",
    text: "The pod wants the cluster's name server (dnsPolicy ClusterFirst), but the kubelet knows no address of one. The pod gets the node's resolv.conf.",
    file: "pkg/kubelet/network/dns/dns.go",
  },
  {
    name: "EvictionThresholdMet",
    also: ["Attempting to reclaim"],
    text: "Less than an eviction threshold of memory, disk, inodes or process ids is left. The kubelet first removes what no one uses, then evicts pods, one at a time.",
    facts: ["evictionMonitoringPeriod"],
    file: "pkg/kubelet/eviction/eviction_manager.go",
  },
  {
    name: "ImageGCFailed",
    also: ["FreeDiskSpaceFailed", "InvalidDiskCapacity", "failed to garbage collect required amount of images"],
    text: "The disk of the images is fuller than imageGCHighThresholdPercent, and removing unused images did not bring it down to imageGCLowThresholdPercent: the rest is in use, too young or pinned. InvalidDiskCapacity: the runtime says that the disk has 0 bytes.",
    see: "kubectl get events -A --field-selector reason=FreeDiskSpaceFailed",
    file: "pkg/kubelet/images/image_gc_manager.go",
  },
  {
    name: "ContainerGCFailed",
    text: "The kubelet could not remove old containers, sandboxes or logs, because the runtime or the file system refused. The next attempt follows a minute later.",
    file: KUBELET,
  },
  {
    name: "Starting",
    text: "The kubelet has started; the event is about its node. A kubelet that starts again finds its pods running, and adopts them.",
    see: "kubelab node --duration 5s -v 2",
    file: KUBELET,
    labs: ["sync-loop"],
  },
  {
    name: "ContainerStarted",
    also: ["ContainerDied", "ContainerRemoved", "ContainerChanged", "PodSync"],
    text: "Events of PLEG, inside the kubelet: the state of a container differs between two relists. ContainerDied comes for any end, also of the sandbox; ContainerChanged for a state that the runtime does not know. The sync loop wakes the pod's worker for them, except for ContainerRemoved, which needs no sync.",
    facts: ["plegRelistPeriod", "plegChannelCapacity"],
    see: "kubelab pleg --duration 5s",
    file: "pkg/kubelet/pleg/generic.go",
    labs: ["pleg", "sync-loop"],
  },
];
