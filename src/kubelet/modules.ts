import { parseGoDuration } from "../apimachinery/time.js";
import { durationText } from "../release/fact-table.js";
import { factFor } from "../release/facts.js";
import type { Trace } from "../trace/trace.js";
import { orAborted } from "../util/concurrency.js";
import type { Kubelet } from "./kubelet.js";
import { LOG_MONITOR_PERIOD_MS } from "./logs/container-log-manager.js";
import { renewIntervalMs } from "./nodelease/lease-observer.js";
import { STATUS_SYNC_PERIOD_MS } from "./status/manager.js";
import { CONTAINER_GC_PERIOD_MS, IMAGE_GC_PERIOD_MS, startGarbageCollection } from "./sync/garbage-collection.js";
import { podSources } from "./sync/pod-sources.js";
import { RUNTIME_UP_PERIOD_MS } from "./sync/runtime-up.js";
import { SYNC_PERIOD_MS } from "./sync/sync-loop.js";

type Loop = (signal: AbortSignal) => Promise<void>;

/** A part of the kubelet that runs until its signal aborts. */
export interface KubeletModule {
  readonly name: string;
  /** the function upstream that starts it */
  readonly func: string;
  /** `every 10 s`, or what makes it act */
  readonly when: string;
  readonly loops: readonly Loop[];
}

/** What only a kubelet's run has. */
export interface RunLoops {
  /** heartbeats, Lease and the renewal of the client certificate, from the registration on */
  readonly keepNode: Loop;
  /** renews the serving certificate; undefined: the server signed its own */
  readonly rotate: Loop | undefined;
}

/**
 * The parts of a kubelet in the order in which upstream starts them.
 *
 * Mirrors NewMainKubelet, StartGarbageCollection, Run, initializeModules and initializeRuntimeDependentModules in
 * pkg/kubelet/kubelet.go.
 * Differs: the node's status and Lease begin after its registration, and the events of the node with BirthCry.
 */
export function kubeletModules(kubelet: Kubelet, { keepNode, rotate }: RunLoops): readonly KubeletModule[] {
  const { config, options } = kubelet;
  const { kubeVersion } = options;
  const seconds = config.nodeLeaseDurationSeconds;
  const lease = every(renewIntervalMs({ kubeVersion, leaseDurationSeconds: seconds }));
  const status = every(parseGoDuration(config.nodeStatusUpdateFrequency));
  const images = kubelet.imageGc.policy.highThresholdPercent === 100 ? "off" : every(IMAGE_GC_PERIOD_MS);
  const main = (name: string, when: string, ...loops: Loop[]) => ({ name, func: "NewMainKubelet", when, loops });
  const run = (name: string, when: string, ...loops: Loop[]) => ({ name, func: "Run", when, loops });
  const runtimeIsUp = (signal: AbortSignal) => orAborted(kubelet.runtimeUp.firstUp, signal);
  const dependent = (name: string, when: string, loop: Loop): KubeletModule => {
    const loops = [(signal: AbortSignal) => runtimeIsUp(signal).then(() => loop(signal))];
    return { name, func: "initializeRuntimeDependentModules", when, loops };
  };
  return [
    main("pod sources", sourcesText(kubelet), ...podSources(kubelet)),
    main("service lister", "watches", (signal) => kubelet.services.run(signal)),
    main("node lister", "watches", (signal) => kubelet.nodes.run(signal)),
    main("secret and config map managers", "watch what pods name", (signal) => kubelet.objectManagers.run(signal)),
    {
      name: "garbage collection",
      func: "StartGarbageCollection",
      when: `containers ${every(CONTAINER_GC_PERIOD_MS)}, images ${images}`,
      loops: [(signal) => collectGarbage(kubelet, signal)],
    },
    {
      name: "image manager",
      func: "initializeModules",
      when: "detects images every 5 min, lists them every 30 s",
      loops: [(signal) => kubelet.imageGc.run(signal), (signal) => kubelet.images.run(signal)],
    },
    ...(rotate === undefined
      ? []
      : [
          { name: "server certificate manager", func: "initializeModules", when: "before it expires", loops: [rotate] },
        ]),
    run("node status and Lease", `status ${status}, Lease ${lease}`, keepNode),
    run("runtime check", every(RUNTIME_UP_PERIOD_MS), (signal) => kubelet.runtimeUp.run(signal)),
    run("status manager", `on changes, and ${every(STATUS_SYNC_PERIOD_MS)}`, (signal) =>
      kubelet.statusManager.run(signal),
    ),
    run("PLEG", every(kubelet.pleg.duration.relistPeriodMs), (signal) => kubelet.pleg.run(signal)),
    {
      name: "device manager",
      func: "initializeRuntimeDependentModules",
      when: `plugins register at ${kubelet.deviceManager.socketPath}`,
      // The first successful check of the runtime starts it.
      loops: [],
    },
    dependent("eviction manager", every(factFor("evictionMonitoringPeriod", kubeVersion)), (signal) =>
      kubelet.evictionManager.run(signal),
    ),
    dependent("container log manager", every(LOG_MONITOR_PERIOD_MS), (signal) => kubelet.logManager.run(signal)),
    run("sync loop", `on events, and ${every(SYNC_PERIOD_MS)}`, (signal) => kubelet.loop.run(signal)),
  ];
}

/** Reports what starts, by which upstream function and at which period. It is in the order of the start. */
export function reportModules(trace: Trace, modules: readonly KubeletModule[]): void {
  for (const { name, func, when } of modules) {
    const upstream = { file: "pkg/kubelet/kubelet.go", func };
    trace.emit({ kind: "state", subject: name, what: "starts", to: when, upstream }, { actor: "kubelet", level: 2 });
  }
}

function every(ms: number): string {
  return `every ${durationText(ms)}`;
}

function sourcesText({ config }: Kubelet): string {
  const { staticPodPath = "", staticPodURL = "", fileCheckFrequency, httpCheckFrequency } = config;
  const file = staticPodPath === "" ? [] : [`${staticPodPath} ${every(parseGoDuration(fileCheckFrequency))}`];
  const http = staticPodURL === "" ? [] : [`${staticPodURL} ${every(parseGoDuration(httpCheckFrequency))}`];
  return [...file, ...http, "the API server by a watch"].join(", ");
}

function collectGarbage({ deps, containerGc, imageGc }: Kubelet, signal: AbortSignal): Promise<void> {
  const { trace, clock, agent } = deps;
  // A high threshold of 100 % turns the collection of images off.
  const images = imageGc.policy.highThresholdPercent === 100 ? {} : { imageGc };
  return startGarbageCollection({ trace, clock, agent, containerGc, ...images }, signal);
}
