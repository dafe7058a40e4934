import { runApiserverSource } from "../config/apiserver.js";
import { FileSource } from "../config/file.js";
import { runHttpSource } from "../config/http.js";
import type { KubeletParts } from "./parts.js";

export interface PodSourceOptions {
  readonly nodeName: string;
  /** a folder of manifests, or one manifest */
  readonly manifestDir?: string;
  readonly manifestUrl?: string;
}

/**
 * Where pods come from: files, a URL, the API server; each is registered at once, and housekeeping waits for all of them.
 *
 * Mirrors makePodSourceConfig in pkg/kubelet/kubelet.go.
 * @returns loops, to be run until their signal aborts
 */
export function podSources(
  { deps, podConfig, nodes }: KubeletParts,
  options: PodSourceOptions,
): ((signal: AbortSignal) => Promise<never>)[] {
  const { nodeName, manifestDir, manifestUrl } = options;
  const loops: ((signal: AbortSignal) => Promise<never>)[] = [];
  if (manifestDir !== undefined) {
    const source = new FileSource(deps, { path: manifestDir, nodeName }, podConfig.channel("file"));
    loops.push((signal) => source.run(signal));
  }
  if (manifestUrl !== undefined) {
    const channel = podConfig.channel("http");
    loops.push((signal) => runHttpSource(deps, { url: manifestUrl, nodeName }, channel, signal));
  }
  const api = podConfig.channel("api");
  loops.push(async (signal) => {
    // Admission goes by the node's labels and taints: they have to be known before the first pod is.
    await Promise.race([nodes.synced, aborted(signal)]);
    return runApiserverSource(deps, { nodeName }, api, signal);
  });
  return loops;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
