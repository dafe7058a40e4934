/** A family of metrics. Names of labels are sorted, as Prometheus prints them. */
export type Family = { readonly help: string; readonly labels?: readonly string[]; readonly isRaw?: true } & (
  | { readonly type: "counter" | "gauge" }
  | { readonly type: "histogram"; readonly buckets: readonly number[] }
);

/** Mirrors DefBuckets of Prometheus' client_golang, in seconds. */
export const DEF_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const HTTP = ["long_running", "method", "path", "server_type"] as const;
const CLIENT_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const STORAGE_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];
/** From a minute to four years. */
const ROTATION_BUCKETS = [60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000];

const counter = (help: string, ...labels: string[]) => ({ type: "counter", help, labels }) as const;
const gauge = (help: string, ...labels: string[]) => ({ type: "gauge", help, labels }) as const;
const histogram = (help: string, buckets: readonly number[], ...labels: string[]) =>
  ({ type: "histogram", help, labels, buckets }) as const;
/** A family of client_golang's own collector, which has no stability level. */
const raw = <T extends Family>(family: T) => ({ ...family, isRaw: true }) as const;

/**
 * The families of the kubelet's /metrics, in the order of their names. All have the stability level ALPHA; raw ones have none.
 *
 * Mirrors pkg/kubelet/metrics/metrics.go, pkg/kubelet/server/metrics/metrics.go, pkg/kubelet/metrics/collectors/log_metrics.go,
 * pkg/kubelet/volumemanager/metrics/metrics.go, pkg/volume/util/metrics.go, pkg/kubelet/certificate/kubelet.go,
 * k8s.io/component-base/metrics/prometheus/restclient/metrics.go, k8s.io/component-base/metrics/version.go,
 * and client_golang's process collector, at v1.25.
 * Differs: leaves out the parts that this kubelet does not have: cgroup and CPU managers, persistent volumes, the
 * plugin manager, Go's runtime, work queues of client-go, and its delegated authentication.
 */
export const FAMILIES = {
  kubelet_certificate_manager_client_expiration_renew_errors: counter("Counter of certificate renewal errors."),
  kubelet_certificate_manager_client_ttl_seconds: gauge(
    "Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value is in seconds until certificate expiry (negative if already expired). If client certificate is invalid or unused, the value will be +INF.",
  ),
  kubelet_certificate_manager_server_rotation_seconds: histogram(
    "Histogram of the number of seconds the previous certificate lived before being rotated.",
    ROTATION_BUCKETS,
  ),
  kubelet_certificate_manager_server_ttl_seconds: gauge(
    "Gauge of the shortest TTL (time-to-live) of the Kubelet's serving certificate. The value is in seconds until certificate expiry (negative if already expired). If serving certificate is invalid or unused, the value will be +INF.",
  ),
  kubelet_container_log_filesystem_used_bytes: gauge(
    "Bytes used by the container's logs on the filesystem.",
    ...["container", "namespace", "pod", "uid"],
  ),
  kubelet_containers_per_pod_count: histogram("The number of containers per pod.", [1, 2, 4, 8, 16]),
  kubelet_device_plugin_alloc_duration_seconds: histogram(
    "Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.",
    DEF_BUCKETS,
    "resource_name",
  ),
  kubelet_device_plugin_registration_total: counter(
    "Cumulative number of device plugin registrations. Broken down by resource name.",
    "resource_name",
  ),
  kubelet_eviction_stats_age_seconds: histogram(
    "Time between when stats are collected, and when pod is evicted based on those stats by eviction signal",
    DEF_BUCKETS,
    "eviction_signal",
  ),
  kubelet_evictions: counter("Cumulative number of pod evictions by eviction signal", "eviction_signal"),
  kubelet_graceful_shutdown_end_time_seconds: gauge("Last graceful shutdown start time since unix epoch in seconds"),
  kubelet_graceful_shutdown_start_time_seconds: gauge("Last graceful shutdown start time since unix epoch in seconds"),
  kubelet_http_inflight_requests: gauge("Number of the inflight http requests", ...HTTP),
  kubelet_http_requests_duration_seconds: histogram("Duration in seconds to serve http requests", DEF_BUCKETS, ...HTTP),
  kubelet_http_requests_total: counter("Number of the http requests received since the server started", ...HTTP),
  kubelet_managed_ephemeral_containers: gauge(
    "Current number of ephemeral containers in pods managed by this kubelet. Ephemeral containers will be ignored if disabled by the EphemeralContainers feature gate, and this number will be 0.",
  ),
  kubelet_node_name: gauge("The node's name. The count is always 1.", "node"),
  kubelet_pleg_discard_events: counter("The number of discard events in PLEG."),
  kubelet_pleg_last_seen_seconds: gauge("Timestamp in seconds when PLEG was last seen active."),
  kubelet_pleg_relist_duration_seconds: histogram("Duration in seconds for relisting pods in PLEG.", DEF_BUCKETS),
  kubelet_pleg_relist_interval_seconds: histogram("Interval in seconds between relisting in PLEG.", DEF_BUCKETS),
  kubelet_pod_resources_endpoint_requests_get_allocatable: counter(
    "Number of requests to the PodResource GetAllocatableResources endpoint. Broken down by server api version.",
    "server_api_version",
  ),
  kubelet_pod_resources_endpoint_requests_list: counter(
    "Number of requests to the PodResource List endpoint. Broken down by server api version.",
    "server_api_version",
  ),
  kubelet_pod_resources_endpoint_requests_total: counter(
    "Cumulative number of requests to the PodResource endpoint. Broken down by server api version.",
    "server_api_version",
  ),
  kubelet_pod_start_duration_seconds: histogram(
    "Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run",
    DEF_BUCKETS,
  ),
  kubelet_pod_worker_duration_seconds: histogram(
    "Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync",
    DEF_BUCKETS,
    "operation_type",
  ),
  kubelet_pod_worker_start_duration_seconds: histogram(
    "Duration in seconds from kubelet seeing a pod to starting a worker.",
    DEF_BUCKETS,
  ),
  kubelet_preemptions: counter("Cumulative number of pod preemptions by preemption resource", "preemption_signal"),
  kubelet_run_podsandbox_duration_seconds: histogram(
    "Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.",
    DEF_BUCKETS,
    "runtime_handler",
  ),
  kubelet_run_podsandbox_errors_total: counter(
    "Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.",
    "runtime_handler",
  ),
  kubelet_running_containers: gauge("Number of containers currently running", "container_state"),
  kubelet_running_pods: gauge("Number of pods that have a running pod sandbox"),
  kubelet_runtime_operations_duration_seconds: histogram(
    "Duration in seconds of runtime operations. Broken down by operation type.",
    exponentialBuckets(0.005, 2.5, 14),
    "operation_type",
  ),
  kubelet_runtime_operations_errors_total: counter(
    "Cumulative number of runtime operation errors by operation type.",
    "operation_type",
  ),
  kubelet_runtime_operations_total: counter(
    "Cumulative number of runtime operations by operation type.",
    "operation_type",
  ),
  kubelet_server_expiration_renew_errors: counter("Counter of certificate renewal errors."),
  kubelet_started_containers_errors_total: counter(
    "Cumulative number of errors when starting containers",
    ...["code", "container_type"],
  ),
  kubelet_started_containers_total: counter("Cumulative number of containers started", "container_type"),
  kubelet_started_pods_errors_total: counter("Cumulative number of errors when starting pods"),
  kubelet_started_pods_total: counter("Cumulative number of pods started"),
  kubernetes_build_info: gauge(
    "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
    ...["build_date", "compiler", "git_commit", "git_tree_state", "git_version", "go_version", "major", "minor"],
    "platform",
  ),
  process_cpu_seconds_total: raw(counter("Total user and system CPU time spent in seconds.")),
  process_max_fds: raw(gauge("Maximum number of open file descriptors.")),
  process_open_fds: raw(gauge("Number of open file descriptors.")),
  process_resident_memory_bytes: raw(gauge("Resident memory size in bytes.")),
  process_start_time_seconds: raw(gauge("Start time of the process since unix epoch in seconds.")),
  process_virtual_memory_bytes: raw(gauge("Virtual memory size in bytes.")),
  process_virtual_memory_max_bytes: raw(gauge("Maximum amount of virtual memory available in bytes.")),
  rest_client_request_duration_seconds: histogram(
    "Request latency in seconds. Broken down by verb, and host.",
    CLIENT_BUCKETS,
    ...["host", "verb"],
  ),
  rest_client_requests_total: counter(
    "Number of HTTP requests, partitioned by status code, method, and host.",
    ...["code", "host", "method"],
  ),
  storage_operation_duration_seconds: histogram(
    "Storage operation duration",
    STORAGE_BUCKETS,
    ...["migrated", "operation_name", "status", "volume_plugin"],
  ),
  volume_manager_total_volumes: gauge("Number of volumes in Volume Manager", "plugin_name", "state"),
} as const satisfies Readonly<Record<string, Family>>;

/** The families of a kubelet that requests its serving certificate from the cluster. */
export const SERVING_CERTIFICATE_FAMILIES: readonly (keyof typeof FAMILIES)[] = [
  "kubelet_certificate_manager_server_rotation_seconds",
  "kubelet_certificate_manager_server_ttl_seconds",
  "kubelet_server_expiration_renew_errors",
];

/** Mirrors ExponentialBuckets of Prometheus' client_golang: multiplied step by step, so that the last digits are the same. */
function exponentialBuckets(start: number, factor: number, count: number): number[] {
  const buckets = [start];
  while (buckets.length < count) buckets.push((buckets.at(-1) ?? start) * factor);
  return buckets;
}
