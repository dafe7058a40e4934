import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { renewIntervalMs } from "../../staging/component-helpers/lease/lease-observer.js";
import { traceOfNode } from "../../trace/view.js";
import { ChildAbort } from "../../util/async/abort.js";
import { factFor } from "../../util/release/facts.js";
import { LOG_MONITOR_PERIOD_MS } from "../logs/container-log-manager.js";
import { podResourcesSocket } from "../server/pod-resources.js";
import { STATUS_SYNC_PERIOD_MS } from "../status/manager.js";
import { CONTAINER_GC_PERIOD_MS, IMAGE_GC_PERIOD_MS } from "../sync/garbage-collection.js";
import { RUNTIME_UP_PERIOD_MS } from "../sync/runtime-up.js";
import { SYNC_PERIOD_MS } from "../sync/sync-loop.js";
import type { HookedDeps, Kubelet, RunningKubelet } from "./kubelet.js";
import {
  absent,
  collectGarbage,
  collectsImages,
  every,
  type KubeletModule,
  type KubeletModules,
  type Loop,
  part,
  type RunLoops,
  servePodResources,
} from "./modules.js";
import { newAdmission } from "./new-main-kubelet/admission.js";
import { type Later, newInputs } from "./new-main-kubelet/inputs.js";
import { newPleg } from "./new-main-kubelet/pleg.js";
import { newPodWorkers } from "./new-main-kubelet/pod-workers.js";
import { newPods } from "./new-main-kubelet/pods.js";
import { newProbes } from "./new-main-kubelet/probes.js";
import { newRuntime } from "./new-main-kubelet/runtime.js";
import { newSources, podSources, sourcesText } from "./new-main-kubelet/sources.js";
import { newStats, registerCollectors } from "./new-main-kubelet/stats.js";
import { newSyncLoop } from "./new-main-kubelet/sync-loop.js";
import type { KubeletOptions } from "./options.js";
import { KubeletRun } from "./run.js";
import { StartObserver } from "./start-observer.js";
import { dependencies, newWorkers } from "./start-up.js";

/**
 * Starts a kubelet: makes its parts (`newMainKubelet`), opens its server (serve.ts), starts its loops in the order of
 * `kubeletModules`, and registers the node (run.ts). The node's client certificate is its only identity.
 *
 * Mirrors startKubelet in cmd/kubelet/app/server.go and Run in pkg/kubelet/kubelet.go.
 * Differs: the lease comes after the registration (see NodeAgent); `start` waits up to 2 s for the node to be Ready.
 * @throws LabError UNAUTHORIZED, FORBIDDEN, REFUSED, CLUSTER_*; the signal's reason
 */
export async function startKubelet(
  deps: HookedDeps,
  options: KubeletOptions,
  signal: AbortSignal,
): Promise<RunningKubelet> {
  signal.throwIfAborted();
  const { agent } = deps;
  const trace = traceOfNode(deps.trace, options.nodeName);
  const stop = new ChildAbort(signal);
  const observer = new StartObserver(trace);
  const run = new KubeletRun(newMainKubelet({ ...deps, trace }, options, stop.signal), observer);
  let closed: Promise<void> | undefined;
  const close = () => {
    stop[Symbol.dispose]();
    closed ??= run.close(stop);
    return closed;
  };
  try {
    const { url } = await run.serve();
    const done = trace.detached(() => run.run(kubeletModules(run.kubelet, run.loops)), "start");
    await observer.starting(options.nodeName, async () => {
      // If a loop ends, the start fails.
      await Promise.race([run.register(), done]);
    });
    return {
      nodeName: options.nodeName,
      apiServer: agent.client.config.server,
      url,
      kubelet: run.kubelet,
      isReady: () => run.problems().length === 0,
      done,
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Makes the parts of a kubelet, in upstream's order. Each group gets the parts before it; the few that come after it are
 * functions, which it calls only while the kubelet runs.
 *
 * Mirrors NewMainKubelet in pkg/kubelet/kubelet.go.
 */
function newMainKubelet(deps: HookedDeps, options: KubeletOptions, signal: AbortSignal): Kubelet {
  const later: Later = {
    runtime: () => runtime.runtime,
    podCidr: () => runtime.podCidr,
    pleg: () => pleg.pleg,
    podWorkers: () => workers.podWorkers,
  };
  const inputs = newInputs(deps, options, signal);
  // Events; pods from files, a URL and the API server; Services and the Node.
  const sources = { ...inputs, ...newSources(inputs, later) };
  // Config maps, secrets, tokens and volumes; pod manager, mirror pods, pod cache and status manager.
  const pods = { ...sources, ...newPods(sources, later) };
  const probes = { ...pods, ...newProbes(pods, later) };
  // Device manager, container runtime, images, garbage collection and log rotation.
  const runtime = { ...probes, ...newRuntime(probes, later) };
  const stats = { ...runtime, ...newStats(runtime) };
  const pleg = { ...stats, ...newPleg(stats) };
  const workers = { ...pleg, ...newPodWorkers(pleg, later) };
  // Eviction, shutdown, and the admit handlers.
  const admission = { ...workers, ...newAdmission(workers) };
  const kubelet = { ...admission, ...newSyncLoop(admission) };
  kubelet.runtimeState.addHealthCheck("PLEG", () => kubelet.pleg.healthy());
  registerCollectors(kubelet);
  deps.hooks?.made?.(kubelet);
  return kubelet;
}

/**
 * The parts of a kubelet in the order in which upstream starts them.
 *
 * Mirrors NewMainKubelet, StartGarbageCollection, Run, initializeModules and initializeRuntimeDependentModules in
 * pkg/kubelet/kubelet.go, and startKubelet in cmd/kubelet/app/server.go.
 * Differs: the Lease begins after the node's registration.
 */
function kubeletModules(kubelet: Kubelet, runLoops: RunLoops): KubeletModules {
  const images = collectsImages(kubelet) ? `images ${every(IMAGE_GC_PERIOD_MS)}` : "no images";
  return {
    dependencies: dependencies(),
    made: [
      part("NewMainKubelet", "node lister", "watching its Node", (signal) => kubelet.nodes.run(signal)),
      part("NewMainKubelet", "pod configuration", sourcesText(kubelet), ...podSources(kubelet)),
      part("NewMainKubelet", "service lister", "watching Services", (signal) => kubelet.services.run(signal)),
      part("NewMainKubelet", "manager of secrets and config maps", "watching what pods name", (signal) =>
        kubelet.objectManagers.run(signal),
      ),
      ...newWorkers(kubelet),
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
    initial("metrics", "counting for /metrics"),
    absent("setupDataDirs", "data directories", "because each folder is made when it is first needed"),
    absent("initializeModules", "folder of log links", "because no log collector reads it"),
    initial(
      "image manager",
      "detecting images every 5 min and listing them every 30 s",
      (signal) => imageGc.run(signal),
      (signal) => images.run(signal),
    ),
    rotate === undefined
      ? absent("initializeModules", "server certificate manager", "because the server signed its own certificate")
      : initial("server certificate manager", "renewing the certificate before it expires", rotate),
    absent("initializeModules", "OOM watcher", "because no kernel log is read: the runtime reports OOMKilled"),
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
    absent("Run", "cloud resource sync manager", "because there is no cloud provider"),
    run("volume manager", "setting up a pod's volumes when its worker asks"),
    run("node status", `updating ${every(parseGoDuration(config.nodeStatusUpdateFrequency))}`, keepNode),
    run("node lease", `renewing ${every(lease)} once the node is registered`),
    run("runtime check", `asking ${every(RUNTIME_UP_PERIOD_MS)}`, (signal) => kubelet.runtimeUp.run(signal)),
    absent("initNetworkUtil", "iptables rules of the kubelet", "because it changes no rules of the machine"),
    run("status manager", `writing on changes and ${every(STATUS_SYNC_PERIOD_MS)}`, (signal) =>
      statusManager.run(signal),
    ),
    absent("Run", "runtime class manager", "because each pod gets the runtime's default handler"),
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
    absent("initializeRuntimeDependentModules", "cAdvisor", "because the runtime's statistics take its place"),
    // The check of the runtime has just started it.
    dependent("device manager", `registering plugins at ${deviceManager.socketPath}`),
    dependent("eviction manager", `measuring ${every(monitoring)}`, (signal) => evictionManager.run(signal)),
    dependent("container log manager", `rotating logs ${every(LOG_MONITOR_PERIOD_MS)}`, (signal) =>
      logManager.run(signal),
    ),
    absent("initializeRuntimeDependentModules", "plugin manager", "because there are no CSI drivers to register"),
    ...(shutdownManager.isEnabled ? [dependent("shutdown manager", "admitting pods until the node shuts down")] : []),
  ];
}
