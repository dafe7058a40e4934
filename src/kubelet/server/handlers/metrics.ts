import { messageOf } from "../../../util/errors.js";
import { resourceMetrics } from "../../metrics/collectors/resource-metrics.js";
import type { Summary } from "../../stats/summary.js";
import { writeText } from "../answers.js";
import type { Call, HandlerDeps } from "../call.js";

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

/** Counts requests. Mirrors pkg/kubelet/server/metrics (HTTPRequests, HTTPInflightRequests). */
export class RequestMetrics {
  readonly #total = new Map<string, number>();
  readonly #inFlight = new Map<string, number>();

  constructor(readonly serverType: "readwrite" | "readonly") {}

  /** @returns a function to call when the request is over */
  begin(method: string, path: string): () => void {
    const labels = this.#labels(method, path);
    add(this.#total, labels, 1);
    add(this.#inFlight, labels, 1);
    return () => add(this.#inFlight, labels, -1);
  }

  #labels(method: string, path: string): string {
    const [root = "", next] = path.slice(1).split("/");
    const name = root === "metrics" && next !== undefined ? `${root}/${next}` : root;
    const bucket = BUCKETS.has(name) ? name : "other";
    return [
      `long_running="${LONG_RUNNING.has(bucket)}"`,
      `method="${METHODS.has(method) ? method : "other"}"`,
      `path="${bucket}"`,
      `server_type="${this.serverType}"`,
    ].join(",");
  }

  /** Renders Prometheus' text format. */
  text(): string {
    return (
      family("kubelet_http_inflight_requests", "gauge", "Number of requests being answered", this.#inFlight) +
      family("kubelet_http_requests_total", "counter", "Number of requests since the server began", this.#total)
    );
  }
}

function add(counts: Map<string, number>, labels: string, change: number): void {
  counts.set(labels, (counts.get(labels) ?? 0) + change);
}

function family(name: string, type: string, help: string, values: ReadonlyMap<string, number>): string {
  const lines = [...values].sort().map(([labels, value]) => `${name}{${labels}} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

/** Serves the kubelet's own metrics at /metrics, and those of the probes at /metrics/probes. There is no cAdvisor. */
export function serveMetrics({ host }: HandlerDeps, { response, path }: Call, metrics: RequestMetrics): void {
  const probes = path === "/metrics/probes" ? (host.probeMetrics?.() ?? "") : "";
  writeText(response, 200, path === "/metrics" ? metrics.text() : probes);
}

/** Serves /metrics/resource. A runtime without statistics is not an error of the request: `scrape_error` is 1. */
export async function serveResourceMetrics({ host, trace }: HandlerDeps, { response, signal }: Call): Promise<void> {
  let summary: Summary | undefined;
  try {
    summary = await host.summaryProvider?.getCpuAndMemoryStats(signal);
  } catch (error) {
    if (signal.aborted) throw error;
    const message = `Error getting summary for resourceMetric prometheus endpoint: ${messageOf(error)}`;
    trace.emit({ kind: "error", message }, { actor: "kubelet", level: 2 });
  }
  response.setHeader("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.end(resourceMetrics(summary));
}
