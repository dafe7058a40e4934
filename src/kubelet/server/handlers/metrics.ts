import type { Clock } from "../../../util/clock.js";
import type { Summary } from "../../apis/stats/v1alpha1.js";
import { resourceMetrics } from "../../metrics/collectors/resource-metrics.js";
import type { KubeletMetrics } from "../../metrics/kubelet-metrics.js";
import type { Call, HandlerDeps } from "../call.js";
import { ServerObserver } from "../server-observer.js";

const METHODS = new Set(["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT"]);
const BUCKETS = new Set([
  "healthz",
  "pods",
  "stats",
  "metrics",
  "metrics/cadvisor",
  "metrics/probes",
  "metrics/resource",
  "run",
  "exec",
  "attach",
  "portForward",
  "containerLogs",
  "configz",
  "runningpods",
  "debug",
  "logs",
]);
const LONG_RUNNING = new Set(["exec", "attach", "portforward", "debug"]);

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Counts requests. Mirrors ServeHTTP in pkg/kubelet/server/server.go. */
export class RequestMetrics {
  constructor(
    readonly deps: { readonly metrics: KubeletMetrics; readonly clock: Clock },
    readonly serverType: "readwrite" | "readonly",
  ) {}

  /** @returns a function to call when the request is over */
  begin(method: string, path: string): () => void {
    const { metrics, clock } = this.deps;
    const labels = this.#labels(method, path);
    const startMs = clock.now();
    metrics.add("kubelet_http_requests_total", labels);
    metrics.add("kubelet_http_inflight_requests", labels);
    return () => {
      metrics.observe("kubelet_http_requests_duration_seconds", clock.now() - startMs, labels);
      metrics.add("kubelet_http_inflight_requests", labels, -1);
    };
  }

  #labels(method: string, path: string) {
    const [root = "", next] = path.slice(1).split("/");
    const name = root === "metrics" && next !== undefined ? `${root}/${next}` : root;
    const bucket = BUCKETS.has(name) ? name : "other";
    return {
      long_running: String(LONG_RUNNING.has(bucket)),
      method: METHODS.has(method) ? method : "other",
      path: bucket,
      server_type: this.serverType,
    };
  }
}

/** Serves metrics of the kubelet at /metrics, of its containers at /metrics/cadvisor, and of its probes at /metrics/probes. */
export async function serveMetrics({ host }: HandlerDeps, { response, path, signal }: Call): Promise<void> {
  const texts: Readonly<Record<string, () => Promise<string> | undefined>> = {
    "/metrics": () => host.metrics.text(),
    "/metrics/cadvisor": () => host.cadvisorMetrics?.(signal),
    "/metrics/probes": () => host.probeMetrics?.(),
  };
  const text = (await texts[path]?.()) ?? "";
  response.setHeader("Content-Type", CONTENT_TYPE);
  response.end(text);
}

/** Serves /metrics/resource. A runtime without statistics is not an error of the request: `scrape_error` is 1. */
export async function serveResourceMetrics({ host, trace }: HandlerDeps, { response, signal }: Call): Promise<void> {
  let summary: Summary | undefined;
  try {
    summary = await host.summaryProvider?.getCpuAndMemoryStats(signal);
  } catch (error) {
    if (signal.aborted) throw error;
    new ServerObserver(trace).noSummary(error);
  }
  response.setHeader("Content-Type", CONTENT_TYPE);
  response.end(resourceMetrics(summary));
}
