import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { renewIntervalMs } from "../../staging/component-helpers/lease/lease-observer.js";
import type { Trace } from "../../trace/trace.js";
import { orAborted } from "../../util/async/concurrency.js";
import { durationText } from "../../util/release/fact-table.js";
import { factFor } from "../../util/release/facts.js";
import { LOG_MONITOR_PERIOD_MS } from "../logs/container-log-manager.js";
import { openPodResources, podResourcesSocket } from "../server/pod-resources.js";
import { STATUS_SYNC_PERIOD_MS } from "../status/manager.js";
import { CONTAINER_GC_PERIOD_MS, IMAGE_GC_PERIOD_MS, startGarbageCollection } from "../sync/garbage-collection.js";
import { RUNTIME_UP_PERIOD_MS } from "../sync/runtime-up.js";
import { SYNC_PERIOD_MS } from "../sync/sync-loop.js";
import type { Kubelet } from "./kubelet.js";
import { podSources } from "./pod-sources.js";

type Loop = (signal: AbortSignal) => Promise<void>;

/** A part of the kubelet that runs until its signal aborts. */
export interface KubeletModule {
  readonly name: string;
  /** the function upstream that starts it */
  readonly func: string;
  /** what it does, and at which period or because of what: `relisting every 1 s` */
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

/** The parts by the moment of their start. */
export interface KubeletModules {
  /** what the constructor starts, before BirthCry */
  readonly made: readonly KubeletModule[];
  readonly running: readonly KubeletModule[];
  /** what the first successful check of the runtime starts */
  readonly runtimeDependent: readonly KubeletModule[];
}

/**
 * The parts of a kubelet in the order in which upstream starts them.
 *
 * Mirrors NewMainKubelet, StartGarbageCollection, Run, initializeModules and initializeRuntimeDependentModules in
 * pkg/kubelet/kubelet.go, and startKubelet in cmd/kubelet/app/server.go.
 * Differs: the Lease begins after the node's registration.
 */
export function kubeletModules(kubelet: Kubelet, runLoops: RunLoops): KubeletModules {
  const images = collectsImages(kubelet) ? `images ${every(IMAGE_GC_PERIOD_MS)}` : "no images";
  return {
    made: [
      part("NewMainKubelet", "node lister", "watching its Node", (signal) => kubelet.nodes.run(signal)),
      part("NewMainKubelet", "pod configuration", sourcesText(kubelet), ...podSources(kubelet)),
      part("NewMainKubelet", "service lister", "watching Services", (signal) => kubelet.services.run(signal)),
      part("NewMainKubelet", "manager of secrets and config maps", "watching what pods name", (signal) =>
        kubelet.objectManagers.run(signal),
      ),
    ],
    running: [
      part(
        "StartGarbageCollection",
        "garbage collection",
        `removing dead containers ${every(CONTAINER_GC_PERIOD_MS)}, ${images}`,
        (signal) => collectGarbage(kubelet, signal),
      ),
      ...initialModules(kubelet, runLoops),
      ...runModules(kubelet, runLoops),
      part(
        "ListenAndServePodResources",
        "pod resources API",
        `listing the devices of containers at ${podResourcesSocket(kubelet.options.rootDir)}`,
        (signal) => servePodResources(kubelet, signal),
      ),
    ],
    runtimeDependent: runtimeDependentModules(kubelet),
  };
}

/** Mirrors initializeModules in pkg/kubelet/kubelet.go. */
function initialModules({ imageGc, images, podDisk }: Kubelet, { rotate }: RunLoops): KubeletModule[] {
  const initial = (name: string, when: string, ...loops: Loop[]) => part("initializeModules", name, when, ...loops);
  return [
    initial(
      "image manager",
      "detecting images every 5 min and listing them every 30 s",
      (signal) => imageGc.run(signal),
      (signal) => images.run(signal),
    ),
    ...(rotate === undefined
      ? []
      : [initial("server certificate manager", "renewing the certificate before it expires", rotate)]),
    initial(
      "resource analyzer",
      `measuring a pod's folders when they are read, at most ${every(podDisk.options.periodMs)}`,
    ),
  ];
}

/** Mirrors Run in pkg/kubelet/kubelet.go. */
function runModules(kubelet: Kubelet, { keepNode }: RunLoops): KubeletModule[] {
  const { config, pleg, statusManager, loop } = kubelet;
  const { kubeVersion } = kubelet.options;
  const lease = renewIntervalMs({ kubeVersion, leaseDurationSeconds: config.nodeLeaseDurationSeconds });
  const run = (name: string, when: string, ...loops: Loop[]) => part("Run", name, when, ...loops);
  return [
    run("volume manager", "setting up a pod's volumes when its worker asks"),
    run("node status", `updating ${every(parseGoDuration(config.nodeStatusUpdateFrequency))}`, keepNode),
    run("node lease", `renewing ${every(lease)} once the node is registered`),
    run("runtime check", `asking ${every(RUNTIME_UP_PERIOD_MS)}`, (signal) => kubelet.runtimeUp.run(signal)),
    run("status manager", `writing on changes and ${every(STATUS_SYNC_PERIOD_MS)}`, (signal) =>
      statusManager.run(signal),
    ),
    run("PLEG", `relisting ${every(pleg.duration.relistPeriodMs)}`, (signal) => pleg.run(signal)),
    run("sync loop", `syncing pods on events and ${every(SYNC_PERIOD_MS)}`, (signal) => loop.run(signal)),
  ];
}

/** Mirrors initializeRuntimeDependentModules in pkg/kubelet/kubelet.go. */
function runtimeDependentModules(kubelet: Kubelet): KubeletModule[] {
  const { deviceManager, evictionManager, logManager, shutdownManager } = kubelet;
  const monitoring = factFor("evictionMonitoringPeriod", kubelet.options.kubeVersion);
  const dependent = (name: string, when: string, ...loops: Loop[]) =>
    part("initializeRuntimeDependentModules", name, when, ...loops);
  return [
    // The check of the runtime has just started it.
    dependent("device manager", `registering plugins at ${deviceManager.socketPath}`),
    dependent("eviction manager", `measuring ${every(monitoring)}`, (signal) => evictionManager.run(signal)),
    dependent("container log manager", `rotating logs ${every(LOG_MONITOR_PERIOD_MS)}`, (signal) =>
      logManager.run(signal),
    ),
    ...(shutdownManager.isEnabled ? [dependent("shutdown manager", "admitting pods until the node shuts down")] : []),
  ];
}

function part(func: string, name: string, when: string, ...loops: Loop[]): KubeletModule {
  return { name, func, when, loops };
}

/** Reports what starts, by which upstream function and at which period. Call it when they start. */
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
  return `reading pods from ${[...file, ...http, "the API server by a watch"].join(", ")}`;
}

function collectGarbage(kubelet: Kubelet, signal: AbortSignal): Promise<void> {
  const { deps, containerGc, imageGc } = kubelet;
  const { trace, clock, agent } = deps;
  const images = collectsImages(kubelet) ? { imageGc } : {};
  return startGarbageCollection({ trace, clock, agent, containerGc, ...images }, signal);
}

async function servePodResources({ ctx, metrics, podManager, deviceManager, options }: Kubelet, signal: AbortSignal) {
  const { trace } = ctx;
  await using _server = await openPodResources({ trace, metrics, podManager, deviceManager }, options.rootDir);
  await orAborted(new Promise<never>(() => {}), signal);
}

/** A high threshold of 100 % turns the collection of images off. */
function collectsImages({ imageGc }: Kubelet): boolean {
  return imageGc.policy.highThresholdPercent !== 100;
}
