import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { orAborted } from "../../util/async/concurrency.js";
import { runApiserverSource } from "../config/apiserver.js";
import { FileSource } from "../config/file.js";
import { runHttpSource } from "../config/http.js";
import type { Kubelet } from "./kubelet.js";

/**
 * Creates the sources of pods: files, a URL, the API server. Each is registered at once, and housekeeping waits for
 * all.
 *
 * Mirrors makePodSourceConfig in pkg/kubelet/kubelet.go.
 * @returns loops, to be run until their signal aborts
 */
export function podSources(kubelet: Kubelet): ((signal: AbortSignal) => Promise<never>)[] {
  const { ctx, podConfig, nodes } = kubelet;
  const { nodeName } = kubelet.options;
  const { staticPodPath = "", staticPodURL: url = "", staticPodURLHeader = {} } = kubelet.config;
  const { fileCheckFrequency, httpCheckFrequency } = kubelet.config;
  const loops: ((signal: AbortSignal) => Promise<never>)[] = [];
  if (staticPodPath !== "") {
    const periodMs = parseGoDuration(fileCheckFrequency);
    const source = new FileSource(ctx, { path: staticPodPath, nodeName, periodMs }, podConfig.channel("file"));
    loops.push((signal) => source.run(signal));
  }
  if (url !== "") {
    const channel = podConfig.channel("http");
    const headers = Object.fromEntries(Object.entries(staticPodURLHeader).map(([name, all]) => [name, all.join(", ")]));
    const options = { url, nodeName, headers, periodMs: parseGoDuration(httpCheckFrequency) };
    loops.push((signal) => runHttpSource(ctx, options, channel, signal));
  }
  const api = podConfig.channel("api");
  loops.push(async (signal) => {
    // Admission reads the node's labels and taints, so the Node must be read before the first pod.
    await orAborted(nodes.synced, signal);
    return runApiserverSource(ctx, { nodeName }, api, signal);
  });
  return loops;
}
