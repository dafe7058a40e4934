import type { NodeObject } from "../../../staging/apimachinery/api/node.js";
import { parseGoDuration } from "../../../staging/apimachinery/time.js";
import { Informer } from "../../../staging/client-go/cache/informer.js";
import { collectionPath, NODES, SERVICES } from "../../../staging/client-go/rest/paths.js";
import { orAborted } from "../../../util/async/concurrency.js";
import { defined } from "../../../util/defined.js";
import { durationText } from "../../../util/release/fact.js";
import { runApiserverSource } from "../../config/apiserver.js";
import { FileSource } from "../../config/file.js";
import { runHttpSource } from "../../config/http.js";
import { PodConfig } from "../../config/pod-config.js";
import { SourcesReady } from "../../config/sources.js";
import { ApiPodEventRecorder } from "../../events/pod-recorder.js";
import type { ServiceObject } from "../../kubelet-pods/service-env.js";
import type { Inputs, Later } from "./inputs.js";

export type WithSources = Inputs & ReturnType<typeof newSources>;

/** Sources of pods, the node, services. */
export function newSources({ ctx, options, signal, deps }: Inputs, later: Later) {
  const recorder = new ApiPodEventRecorder(ctx, options, signal);
  const recording = { ...ctx, recorder };
  const podConfig = new PodConfig(recording);
  const sourcesReady = new SourcesReady((seen) => podConfig.seenAllSources(seen));
  const services = new Informer<ServiceObject>(ctx, {
    path: collectionPath(SERVICES),
    waiting: "Containers wait for services.",
  });
  const nodes = new Informer<NodeObject>(ctx, {
    path: collectionPath(NODES),
    fieldSelector: `metadata.name=${options.nodeName}`,
    // Nothing waits for this promise: it reports its failures, and rejects only when the kubelet ends.
    onChanged: (node) => {
      const update = later.podCidr().update(node, signal);
      void update.catch(() => undefined);
    },
  });
  /** This kubelet's Node as the API server has it, or else as the kubelet would register it. Mirrors getNodeAnyWay. */
  const getNode = (): NodeObject => nodes.objects[0] ?? deps.agent.initialNode();
  const allocatable = () => getNode().status?.allocatable ?? {};
  return { recorder, recording, podConfig, sourcesReady, services, nodes, getNode, allocatable };
}

/**
 * Creates the sources of pods: files, a URL, the API server. Each is registered at once, and housekeeping waits for
 * all.
 *
 * Mirrors makePodSourceConfig in pkg/kubelet/kubelet.go.
 * @returns loops, to be run until their signal aborts
 */
export function podSources(kubelet: WithSources): ((signal: AbortSignal) => Promise<never>)[] {
  const { ctx, podConfig, nodes, deps } = kubelet;
  const { nodeName } = kubelet.options;
  const { staticPodPath = "", staticPodURL: url = "", staticPodURLHeader = {} } = kubelet.config;
  const { fileCheckFrequency, httpCheckFrequency } = kubelet.config;
  const loops: ((signal: AbortSignal) => Promise<never>)[] = [];
  if (staticPodPath !== "") {
    const periodMs = parseGoDuration(fileCheckFrequency);
    const fileDeps = { ...ctx, ...defined({ causeOf: deps.hooks?.causeOfFile }) };
    const source = new FileSource(fileDeps, { path: staticPodPath, nodeName, periodMs }, podConfig.channel("file"));
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

/** Where pods are read from, and how often. */
export function sourcesText({ config }: WithSources): string {
  const { staticPodPath = "", staticPodURL = "", fileCheckFrequency, httpCheckFrequency } = config;
  const file =
    staticPodPath === "" ? [] : [`${staticPodPath} every ${durationText(parseGoDuration(fileCheckFrequency))}`];
  const http =
    staticPodURL === "" ? [] : [`${staticPodURL} every ${durationText(parseGoDuration(httpCheckFrequency))}`];
  return `reading pods from ${[...file, ...http, "the API server by a watch"].join(", ")}`;
}
