import type { Trace } from "../../../trace/trace.js";
import { ChildAbort } from "../../../util/async/abort.js";
import type { Clock } from "../../../util/clock.js";
import { messageOf } from "../../../util/errors.js";
import { readAtMost } from "../../../util/os/read-at-most.js";
import type { KubeletConnections } from "../../apiserver/proxy/kubelet-connection.js";
import { askKubelet } from "../../apiserver/proxy/kubelet-request.js";
import type { Registry } from "../../apiserver/registry/rest/registry.js";
import { decodeBatch, type MetricsBatch, type MetricsPoint } from "./decode.js";

/** What scraping needs. */
export interface ScraperDeps {
  readonly registry: Registry;
  readonly connections: KubeletConnections;
  readonly clock: Clock;
  readonly trace: Trace;
}

/** Mirrors --kubelet-request-timeout of metrics-server. */
const SCRAPE_TIMEOUT_MS = 10_000;
const MAX_BYTES = 16 * 1024 * 1024;
const PATH = "/metrics/resource";
const USER_AGENT = "metrics-server/v0.6.1";
const LEVEL = 2;
const UPSTREAM = { file: "pkg/scraper/scraper.go", func: "collectNode" } as const;

/**
 * Reads /metrics/resource of all kubelets, at the same time.
 *
 * Mirrors pkg/scraper/scraper.go of metrics-server. Differs: as the API server's client of kubelets, without random delays.
 */
export async function scrape(deps: ScraperDeps, signal: AbortSignal): Promise<MetricsBatch> {
  const nodes = new Map<string, MetricsPoint>();
  const pods = new Map<string, ReadonlyMap<string, MetricsPoint>>();
  const { items } = await deps.registry.store("nodes").list(undefined);
  await Promise.all(
    items.map(async ({ metadata }) => {
      const nodeName = metadata.name ?? "";
      const batch = await tryToCollect(deps, nodeName, signal);
      for (const [name, point] of batch?.nodes ?? []) nodes.set(name, point);
      for (const [key, containers] of batch?.pods ?? []) if (!pods.has(key)) pods.set(key, containers);
    }),
  );
  return { nodes, pods };
}

/** @returns undefined for a kubelet that did not answer, or not in time */
async function tryToCollect(
  deps: ScraperDeps,
  nodeName: string,
  signal: AbortSignal,
): Promise<MetricsBatch | undefined> {
  const { clock, trace } = deps;
  using limit = new ChildAbort(signal);
  const timer = clock.timer(SCRAPE_TIMEOUT_MS, () => limit.abort(new Error("context deadline exceeded")));
  try {
    return await collectNode(deps, nodeName, limit.signal);
  } catch (error) {
    if (signal.aborted) throw error;
    const message = `Failed to scrape node ${nodeName}: ${messageOf(error)}`;
    trace.emit({ kind: "error", message }, { actor: "apiserver", level: LEVEL });
    return undefined;
  } finally {
    timer.stop();
  }
}

async function collectNode(
  { registry, connections, clock, trace }: ScraperDeps,
  nodeName: string,
  signal: AbortSignal,
): Promise<MetricsBatch> {
  const info = await connections.infoFor(registry, nodeName);
  const request = { method: "GET", path: PATH, headers: { "User-Agent": USER_AGENT } };
  const what = `ask the kubelet: GET ${info.scheme}://${info.address}${PATH}`;
  const why = `a reader of metrics.k8s.io wants the usage of node ${nodeName}`;
  const { id } = trace.emit({ kind: "decision", what, why, upstream: UPSTREAM }, { actor: "apiserver", level: LEVEL });
  const answer = await trace.because({ causedBy: id }, () => askKubelet(connections, info, request, signal));
  if (answer.type === "upgrade") {
    answer.socket.destroy();
    throw new Error("the kubelet answered with an upgrade");
  }
  const { response } = answer;
  const { statusCode = 0, statusMessage = "" } = response;
  const body = await readAtMost(response, MAX_BYTES, signal);
  if (statusCode !== 200) throw new Error(`request failed, status: "${statusCode} ${statusMessage}"`);
  return decodeBatch(body.toString(), clock.now(), nodeName);
}
