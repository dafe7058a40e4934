import type { RequestObserver } from "../../staging/client-go/rest/request-observer.js";
import type { KubeletMetrics } from "./kubelet-metrics.js";

/** Counts and times the kubelet's requests. Mirrors resultAdapter and latencyAdapter in k8s.io/component-base/metrics/prometheus/restclient. */
export function observeRequests(metrics: KubeletMetrics): RequestObserver {
  return ({ method, host, status, durationMs }) => {
    const code = status === undefined ? "<error>" : String(status);
    metrics.add("rest_client_requests_total", { code, host, method });
    if (durationMs === undefined) return;
    metrics.observe("rest_client_request_duration_seconds", durationMs, { host, verb: method });
  };
}
