import type { Topic } from "../topic.js";

const LIFECYCLE = "pkg/controller/nodelifecycle/node_lifecycle_controller.go";

/** Numbers that learners meet in texts, states and messages: times, ports, exit codes. */
export const NUMBERS: readonly Topic[] = [
  {
    name: "node-monitor-grace-period",
    also: ["nodeMonitorGracePeriod", "40 s", "50 s"],
    text: "How long a node may be silent before the node lifecycle controller sets its conditions to Unknown: 40 s, and 50 s from v1.32 on. The controller measures it by its own clock since it last saw the Lease or the status change. leaseDurationSeconds is 40 as well, but the controller does not read it.",
    facts: ["nodeMonitorGracePeriod", "nodeMonitorPeriod", "leaseDurationSeconds"],
    see: "kubelab lease --stop-after 2 --speed 20",
    file: LIFECYCLE,
    labs: ["heartbeats", "not-ready"],
  },
  {
    name: "10 s",
    also: ["node-status-update-frequency", "nodeStatusUpdateFrequency", "renewInterval"],
    text: "Three waits are 10 s: the kubelet renews its Lease every 10 s, it looks every 10 s whether its node's status has changed, and the first back-off of a container that ended is 10 s. A probe's periodSeconds is 10 by default as well.",
    facts: ["leaseRenewInterval", "nodeStatusUpdateFrequency", "containerBackOffPeriod"],
    see: "kubelab lease --duration 5s",
    file: "pkg/kubelet/apis/config/v1beta1/defaults.go",
    labs: ["heartbeats", "crash-loop"],
  },
  {
    name: "300 s",
    also: [
      "300",
      "5 min",
      "5m",
      "5m0s",
      "tolerationSeconds",
      "node-status-report-frequency",
      "nodeStatusReportFrequency",
    ],
    text: "Five minutes are three limits. A pod tolerates a node that is not ready or unreachable for 300 s (tolerationSeconds) before it is evicted; a container's back-off ends at 5 min; and a kubelet whose status did not change writes it every 5 min all the same.",
    facts: [
      "defaultNotReadyTolerationSeconds",
      "defaultUnreachableTolerationSeconds",
      "maxContainerBackOff",
      "nodeStatusReportFrequency",
    ],
    see: "kubectl get pods -A -o 'custom-columns=POD:.metadata.name,SECONDS:.spec.tolerations[*].tolerationSeconds'",
    file: "plugin/pkg/admission/defaulttolerationseconds/admission.go",
    labs: ["heartbeats", "not-ready", "crash-loop"],
  },
  {
    name: "expirationSeconds",
    also: ["600 s", "600", "3600 s", "3600", "10 min", "10m", "may not specify a duration less than"],
    text: "The lifetime that a client asks for: of a certificate in a CSR, or of a token in a TokenRequest or a projected volume. At least 600 s in both, less is refused as Invalid. The signer may shorten a certificate; without the field it lasts as long as the signer allows, and a token for one hour.",
    facts: ["csrMinExpirationSeconds", "clusterSigningDuration"],
    see: "kubectl explain certificatesigningrequest.spec.expirationSeconds",
    file: "pkg/apis/certificates/validation/validation.go",
    labs: ["csr", "rotation", "volumes"],
  },
  {
    name: "24 h",
    also: ["24h"],
    text: "A day is the lifetime of a bootstrap token that kubeadm makes, and the time after which a certificate request that no one has decided is removed.",
    facts: ["bootstrapTokenTtl", "csrPendingExpiration"],
    see: "kubelab token create",
    file: "pkg/controller/certificates/cleaner/cleaner.go",
    labs: ["tokens", "csr-stuck"],
  },
  {
    name: "exit code",
    also: ["137", "143", "126", "127", "139", "Exit Code: 137", "exit status 137", "signal: killed"],
    text: "What a container's program ended with. 1 to 125 are the program's own, 126 means not executable, 127 not found by the shell. 128 plus N means that signal N ended it: 137 is SIGKILL (look for OOMKilled, a failed liveness probe, or a grace period that was over), 143 SIGTERM, 139 a crash (SIGSEGV).",
    see: "kubectl get pods -A -o 'custom-columns=POD:.metadata.name,CODE:.status.containerStatuses[*].lastState.terminated.exitCode'",
    file: "pkg/apis/core/types.go",
    labs: ["crash-loop", "qos", "stuck-terminating"],
  },
  {
    name: "ports",
    also: ["10250", "10255", "10248", "10256", "10257", "10259", "6443", "2379", "kubelet port", "read-only port"],
    text: "Kubelet: 10250 is its API over HTTPS (exec, logs, metrics), 10248 its health on localhost, 10255 the read-only port without authentication, which a configuration file leaves closed. API server: 6443, etcd: 2379. kube-proxy's health: 10256, controller manager: 10257, scheduler: 10259.",
    see: "kubectl get nodes -o 'custom-columns=NODE:.metadata.name,PORT:.status.daemonEndpoints.kubeletEndpoint.Port'",
    file: "pkg/cluster/ports/ports.go",
    labs: ["kubelet-start", "exec"],
  },
];
