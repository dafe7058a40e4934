import { orAborted } from "../../util/concurrency.js";
import { runApiserverSource } from "../config/apiserver.js";
import { FileSource } from "../config/file.js";
import { runHttpSource } from "../config/http.js";
import type { Kubelet } from "../kubelet.js";

/**
 * Creates the sources of pods: files, a URL, the API server. Each is registered at once, and housekeeping waits for
 * all.
 *
 * Mirrors makePodSourceConfig in pkg/kubelet/kubelet.go.
 * @returns loops, to be run until their signal aborts
 */
export function podSources(kubelet: Kubelet): ((signal: AbortSignal) => Promise<never>)[] {
  const { ctx, podConfig, nodes } = kubelet;
  const { nodeName, manifestDir, manifestUrl } = kubelet.options;
  const loops: ((signal: AbortSignal) => Promise<never>)[] = [];
  if (manifestDir !== undefined) {
    const source = new FileSource(ctx, { path: manifestDir, nodeName }, podConfig.channel("file"));
    loops.push((signal) => source.run(signal));
  }
  if (manifestUrl !== undefined) {
    const channel = podConfig.channel("http");
    loops.push((signal) => runHttpSource(ctx, { url: manifestUrl, nodeName }, channel, signal));
  }
  const api = podConfig.channel("api");
  loops.push(async (signal) => {
    // Admission reads the node's labels and taints, so the Node must be read before the first pod.
    await orAborted(nodes.synced, signal);
    return runApiserverSource(ctx, { nodeName }, api, signal);
  });
  return loops;
}
