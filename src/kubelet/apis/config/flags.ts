import { CONFIG_FIELDS } from "./fields.js";

/** Flags that are their field's name with dashes, in any case: `kube-api-qps` sets kubeAPIQPS. */
const SAME_NAME = `
  address allowed-unsafe-sysctls cgroup-driver cgroup-root cgroups-per-qos cluster-dns cluster-domain container-log-max-files
  container-log-max-size cpu-cfs-quota cpu-cfs-quota-period cpu-manager-policy cpu-manager-policy-options
  cpu-manager-reconcile-period enable-controller-attach-detach enable-debugging-handlers enable-server enforce-node-allocatable
  event-burst eviction-hard eviction-max-pod-grace-period eviction-minimum-reclaim eviction-pressure-transition-period
  eviction-soft eviction-soft-grace-period fail-swap-on feature-gates file-check-frequency hairpin-mode healthz-bind-address
  healthz-port http-check-frequency iptables-drop-bit iptables-masquerade-bit kernel-memcg-notification kube-api-burst
  kube-api-qps kube-reserved kube-reserved-cgroup kubelet-cgroups local-storage-capacity-isolation make-iptables-util-chains
  max-open-files max-pods memory-manager-policy node-status-max-images node-status-update-frequency oom-score-adj pod-cidr
  pods-per-core port protect-kernel-defaults provider-id qos-reserved read-only-port register-node register-with-taints
  registry-burst resolv-conf rotate-certificates runonce runtime-request-timeout seccomp-default serialize-image-pulls
  streaming-connection-idle-timeout sync-frequency system-cgroups system-reserved system-reserved-cgroup tls-cert-file
  tls-cipher-suites tls-min-version tls-private-key-file topology-manager-policy topology-manager-scope volume-plugin-dir
  volume-stats-agg-period
`;

const OTHER_NAMES: Readonly<Record<string, string>> = {
  "anonymous-auth": "authentication.anonymous.enabled",
  "authentication-token-webhook": "authentication.webhook.enabled",
  "authentication-token-webhook-cache-ttl": "authentication.webhook.cacheTTL",
  "authorization-mode": "authorization.mode",
  "authorization-webhook-cache-authorized-ttl": "authorization.webhook.cacheAuthorizedTTL",
  "authorization-webhook-cache-unauthorized-ttl": "authorization.webhook.cacheUnauthorizedTTL",
  "client-ca-file": "authentication.x509.clientCAFile",
  "contention-profiling": "enableContentionProfiling",
  "event-qps": "eventRecordQPS",
  "image-gc-high-threshold": "imageGCHighThresholdPercent",
  "image-gc-low-threshold": "imageGCLowThresholdPercent",
  "kube-api-content-type": "contentType",
  "manifest-url": "staticPodURL",
  "manifest-url-header": "staticPodURLHeader",
  "minimum-image-ttl-duration": "imageMinimumGCAge",
  "pod-manifest-path": "staticPodPath",
  "pod-max-pids": "podPidsLimit",
  "registry-qps": "registryPullQPS",
  "reserved-cpus": "reservedSystemCPUs",
  "rotate-server-certificates": "serverTLSBootstrap",
};

/**
 * The flags of kubelet v1.25 that set a field of its configuration, with the path of the field.
 * The list is that of AddKubeletConfigFlags in cmd/kubelet/app/options/options.go.
 */
export const CONFIG_FLAGS: ReadonlyMap<string, string> = new Map([
  ...SAME_NAME.trim()
    .split(/\s+/)
    .map((flag): [string, string] => [flag, fieldNamed(flag)]),
  ...Object.entries(OTHER_NAMES),
]);

function fieldNamed(flag: string): string {
  const letters = flag.replaceAll("-", "");
  return CONFIG_FIELDS.find((field) => field.toLowerCase() === letters) ?? flag;
}
