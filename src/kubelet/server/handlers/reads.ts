import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { summaryJson } from "../../stats/summary-json.js";
import { httpError, writeJson, writeText } from "../answers.js";
import type { Call, HandlerDeps } from "../call.js";
import { formOf } from "../form.js";

/** Mirrors getPods in pkg/kubelet/server/server.go: the pods that this node should run. */
export function servePods({ host }: HandlerDeps, { response }: Call): void {
  writeJson(response, encodePods(host.getPods()));
}

/** Mirrors getRunningPods: the pods that run according to the runtime. */
export async function serveRunningPods({ host }: HandlerDeps, { response, signal }: Call): Promise<void> {
  let pods: readonly V1Pod[];
  try {
    pods = await host.getRunningPods(signal);
  } catch (error) {
    return writeText(response, 500, (error as Error).message);
  }
  writeJson(response, encodePods(pods));
}

/** Mirrors encodePods: items of a list have no kind, and an empty list is null, as a nil slice in Go. */
function encodePods(pods: readonly V1Pod[]): string {
  const items = pods.map(({ kind: _kind, apiVersion: _apiVersion, ...pod }) => pod);
  const list = { kind: "PodList", apiVersion: "v1", metadata: {}, items: items.length === 0 ? null : items };
  return `${JSON.stringify(list)}\n`;
}

/** Mirrors k8s.io/component-base/configz (handle). */
export function serveConfigz({ host }: HandlerDeps, { response }: Call): void {
  writeJson(response, JSON.stringify({ kubeletconfig: host.configz?.() ?? {} }));
}

/** Mirrors pkg/kubelet/server/stats/handler.go (handleSummary): as upstream, without a new reading of the CPU usage. */
export async function serveStats({ host }: HandlerDeps, call: Call): Promise<void> {
  const { response, signal } = call;
  const { summaryProvider } = host;
  if (summaryProvider === undefined) return writeText(response, 404, "404: Page Not Found");
  const onlyCpuAndMemory = (await formOf(call)).get("only_cpu_and_memory") === "true";
  try {
    const summary = await (onlyCpuAndMemory
      ? summaryProvider.getCpuAndMemoryStats(signal)
      : summaryProvider.get(false, signal));
    writeJson(response, summaryJson(summary));
  } catch (error) {
    writeText(response, 500, (error as Error).message);
  }
}

/** An endpoint that exists but is disabled. Mirrors getHandlerForDisabledEndpoint in pkg/kubelet/server/server.go. */
export function serveDisabled({ response, path }: Call): void {
  const what = path.startsWith("/logs/") ? "logs" : path.startsWith("/debug/pprof/") ? "profiling" : "flags";
  httpError(response, 405, `${what} endpoint is disabled.`);
}
