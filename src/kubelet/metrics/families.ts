/** A family of metrics. Names of labels are sorted, as Prometheus prints them. */
export type Family = { readonly help: string; readonly labels?: readonly string[] } & (
  | { readonly type: "counter" | "gauge" }
  | { readonly type: "histogram"; readonly buckets: readonly number[] }
);

/** Mirrors DefBuckets of Prometheus' client_golang, in seconds. */
const DEF_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const HTTP = ["long_running", "method", "path", "server_type"] as const;

/**
 * What /metrics of the kubelet counts. All have the stability level ALPHA.
 *
 * Mirrors pkg/kubelet/metrics/metrics.go, pkg/kubelet/server/metrics/metrics.go and RegisterProcessStartTime of
 * k8s.io/component-base/metrics.
 */
export const FAMILIES = {
  kubelet_http_inflight_requests: { type: "gauge", help: "Number of the inflight http requests", labels: HTTP },
  kubelet_http_requests_duration_seconds: {
    type: "histogram",
    help: "Duration in seconds to serve http requests",
    labels: HTTP,
    buckets: DEF_BUCKETS,
  },
  kubelet_http_requests_total: {
    type: "counter",
    help: "Number of the http requests received since the server started",
    labels: HTTP,
  },
  kubelet_node_name: { type: "gauge", help: "The node's name. The count is always 1.", labels: ["node"] },
  kubelet_pleg_discard_events: { type: "counter", help: "The number of discard events in PLEG." },
  kubelet_pleg_last_seen_seconds: { type: "gauge", help: "Timestamp in seconds when PLEG was last seen active." },
  kubelet_pleg_relist_duration_seconds: {
    type: "histogram",
    help: "Duration in seconds for relisting pods in PLEG.",
    buckets: DEF_BUCKETS,
  },
  kubelet_pleg_relist_interval_seconds: {
    type: "histogram",
    help: "Interval in seconds between relisting in PLEG.",
    buckets: DEF_BUCKETS,
  },
  kubelet_pod_start_duration_seconds: {
    type: "histogram",
    help: "Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run",
    buckets: DEF_BUCKETS,
  },
  kubelet_pod_worker_duration_seconds: {
    type: "histogram",
    help: "Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync",
    labels: ["operation_type"],
    buckets: DEF_BUCKETS,
  },
  kubelet_pod_worker_start_duration_seconds: {
    type: "histogram",
    help: "Duration in seconds from kubelet seeing a pod to starting a worker.",
    buckets: DEF_BUCKETS,
  },
  kubelet_running_containers: {
    type: "gauge",
    help: "Number of containers currently running",
    labels: ["container_state"],
  },
  kubelet_running_pods: { type: "gauge", help: "Number of pods that have a running pod sandbox" },
  kubelet_runtime_operations_duration_seconds: {
    type: "histogram",
    help: "Duration in seconds of runtime operations. Broken down by operation type.",
    labels: ["operation_type"],
    buckets: exponentialBuckets(0.005, 2.5, 14),
  },
  kubelet_runtime_operations_errors_total: {
    type: "counter",
    help: "Cumulative number of runtime operation errors by operation type.",
    labels: ["operation_type"],
  },
  kubelet_runtime_operations_total: {
    type: "counter",
    help: "Cumulative number of runtime operations by operation type.",
    labels: ["operation_type"],
  },
  process_start_time_seconds: { type: "gauge", help: "Start time of the process since unix epoch in seconds." },
} as const satisfies Readonly<Record<string, Family>>;

export type MetricName = keyof typeof FAMILIES;
/** The names of the families of a type. */
export type NameOf<T extends Family["type"]> = {
  [N in MetricName]: (typeof FAMILIES)[N]["type"] extends T ? N : never;
}[MetricName];

/** Mirrors ExponentialBuckets of Prometheus' client_golang: multiplied step by step, so that the last digits are the same. */
function exponentialBuckets(start: number, factor: number, count: number): number[] {
  const buckets = [start];
  while (buckets.length < count) buckets.push((buckets.at(-1) ?? start) * factor);
  return buckets;
}
