import { isIPv6 } from "node:net";
import {
  ephemeralContainersOf,
  isPodPhaseTerminal,
  type PodPhase,
  replaceOrAppend,
  type V1ContainerStatus,
  type V1Pod,
  type V1PodCondition,
  type V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import { getPodQos } from "../../staging/apimachinery/corev1/qos.js";
import type { Trace } from "../../trace/trace.js";
import { factFor, isAtLeast } from "../../util/release/facts.js";
import type { PodStatus } from "../container/runtime.js";
import type { ProbeManager } from "../prober/manager.js";
import {
  generateContainersReadyCondition,
  generatePodInitializedCondition,
  generatePodReadyCondition,
} from "../status/generate.js";
import { ownedConditions } from "../status/merge.js";
import { getPhase } from "../status/phase.js";
import { isStaticPod, podText } from "../types/pod-update.js";
import { convertToApiContainerStatuses } from "./container-statuses.js";
import type { ReasonCache } from "./reason-cache.js";

const FILE = "pkg/kubelet/kubelet_pods.go";

export interface ApiPodStatusDeps {
  readonly statusManager: { getPodStatus(podUid: string): V1PodStatus | undefined };
  readonly probeManager: Pick<ProbeManager, "updatePodStatus">;
  readonly reasonCache: Pick<ReasonCache, "get">;
  readonly trace: Trace;
  /** default: the kubelet's own */
  readonly getPhase?: typeof getPhase;
}

export interface ApiPodStatusOptions {
  /** the runtime's name in the Version response: `containerd` */
  readonly runtimeName: string;
  readonly kubeVersion: string;
  /** the node's own addresses, the preferred one first; empty: the kubelet has no API server */
  readonly hostIps: readonly string[];
}

/**
 * The status that the API shows for a pod: from the runtime's status, and from the last status.
 *
 * Mirrors generateAPIPodStatus and convertStatusToAPIStatus in pkg/kubelet/kubelet_pods.go.
 * Differs: evictions and deadlines are added by the code that decides them (PodSyncHandlers upstream).
 *
 * @param podIsTerminal no container of the pod will be started again: then all of its containers decide the phase
 *   (v1.27)
 */
export function generateApiPodStatus(
  deps: ApiPodStatusDeps,
  options: ApiPodStatusOptions,
  pod: V1Pod,
  podStatus: PodStatus,
  podIsTerminal = false,
): V1PodStatus {
  const old = deps.statusManager.getPodStatus(pod.metadata.uid) ?? pod.status;
  const converted = convertStatusToApiStatus(deps, options, pod, podStatus, old);
  const all = [...(converted.containerStatuses ?? []), ...(converted.initContainerStatuses ?? [])];
  const fromContainers = (deps.getPhase ?? getPhase)(pod.spec, all, {
    // A static pod may return with its old uid: keeping a final phase would prevent that.
    podIsTerminal: podIsTerminal && !isStaticPod(pod) && factFor("deletedPodsEnd", options.kubeVersion),
  });
  const phase = phaseOf(deps, pod, old, fromContainers);
  const said = phase === old.phase ? saidOf(old, pod.status) : {};
  const status = deps.probeManager.updatePodStatus(pod, { phase, ...said, ...converted });
  return {
    ...status,
    ...addressesOf(options.hostIps, pod, status),
    conditions: conditionsOf(options.kubeVersion, pod, podStatus, status, old),
  };
}

/** A terminal phase is final, whether in the last status or in the API. */
function phaseOf({ trace }: ApiPodStatusDeps, pod: V1Pod, old: V1PodStatus, fromContainers: PodPhase): PodPhase {
  const inApi = terminalPhase(pod.status);
  const before = terminalPhase(old) ?? inApi;
  const phase = isPodPhaseTerminal(fromContainers) ? fromContainers : (before ?? fromContainers);
  if (inApi === undefined || phase === inApi) return phase;
  const what = `keep phase ${inApi} of ${podText(pod)}, not ${phase}`;
  const upstream = { file: FILE, func: "generateAPIPodStatus" };
  trace.emit(
    { kind: "decision", what, why: "a pod does not leave a terminal phase", upstream },
    { actor: "kubelet", level: 2 },
  );
  return inApi;
}

function terminalPhase({ phase }: V1PodStatus): PodPhase | undefined {
  return phase === "Failed" || phase === "Succeeded" ? phase : undefined;
}

/** Reason and message belong to the phase: they stay as long as it does. */
function saidOf(old: V1PodStatus, inApi: V1PodStatus): V1PodStatus {
  const reason = old.reason || inApi.reason;
  const message = old.message || inApi.message;
  return { ...(reason ? { reason } : {}), ...(message ? { message } : {}) };
}

function convertStatusToApiStatus(
  { reasonCache }: ApiPodStatusDeps,
  options: ApiPodStatusOptions,
  pod: V1Pod,
  podStatus: PodStatus,
  old: V1PodStatus,
): V1PodStatus {
  const { containers, initContainers } = pod.spec;
  const hasInitContainers = (initContainers ?? []).length > 0;
  const convert = (
    previous: V1PodStatus["containerStatuses"],
    specs: readonly Parameters<typeof convertToApiContainerStatuses>[4][number][],
    isInitContainer = false,
  ) =>
    convertToApiContainerStatuses(reasonCache, pod, podStatus, previous ?? [], specs, {
      runtimeName: options.runtimeName,
      hasInitContainers,
      isInitContainer,
    });
  const podIPs = sortPodIps(podStatus.ips, options.hostIps).map((ip) => ({ ip }));
  const [first] = podIPs;
  const containerStatuses = convert(old.containerStatuses, containers ?? []);
  const ephemeral = convert(old.ephemeralContainerStatuses, ephemeralContainersOf(pod));
  return {
    ...(first === undefined ? {} : { podIP: first.ip, podIPs }),
    qosClass: getPodQos(pod.spec),
    initContainerStatuses: convert(old.initContainerStatuses, initContainers ?? [], true),
    containerStatuses: containerStatuses.sort(byName),
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral.sort(byName) }),
  };
}

function byName(a: V1ContainerStatus, b: V1ContainerStatus): number {
  return a.name < b.name ? -1 : 1;
}

/**
 * Sorts the first address of the node's own family to the front; runtimes report them in no fixed order.
 * Mirrors sortPodIPs.
 */
export function sortPodIps(podIps: readonly string[], hostIps: readonly string[]): readonly string[] {
  const isFirstV6 = hostIps[0] !== undefined && isIPv6(hostIps[0]);
  const primary = podIps.find((ip) => isIPv6(ip) === isFirstV6);
  const secondary = podIps.find((ip) => isIPv6(ip) !== isFirstV6);
  return [primary, secondary].filter((ip): ip is string => ip !== undefined);
}

/** A pod in the node's network has the node's addresses. */
function addressesOf(hostIps: readonly string[], pod: V1Pod, status: V1PodStatus): V1PodStatus {
  const [hostIP] = hostIps;
  if (hostIP === undefined) return {};
  if (pod.spec.hostNetwork !== true) return { hostIP };
  const present = status.podIPs ?? [];
  const podIPs = present.length === 0 ? [{ ip: hostIP }] : [...present];
  const second = hostIps[1];
  if (podIPs.length === 1 && hostIps.length === 2 && second !== undefined) podIPs.push({ ip: second });
  return { hostIP, podIP: status.podIP ?? hostIP, podIPs };
}

/** Keeps conditions of other owners and appends the kubelet's own; keeps the kubelet's DisruptionTarget. */
function conditionsOf(
  kubeVersion: string,
  pod: V1Pod,
  podStatus: PodStatus,
  status: V1PodStatus,
  old: V1PodStatus,
): V1PodCondition[] {
  const { owned, shared } = ownedConditions(kubeVersion);
  const others = (old.conditions ?? [])
    .filter(({ type }) => shared.includes(type))
    .reduce(
      replaceOrAppend,
      (pod.status.conditions ?? []).filter(({ type }) => !owned.includes(type)),
    );
  const { phase, initContainerStatuses: init = [], containerStatuses: main = [] } = status;
  const { spec } = pod;
  // From 1.29 on, the regular containers also decide whether a pod is initialized.
  const forInitialized = isAtLeast(kubeVersion, "1.29") ? [...(init ?? []), ...(main ?? [])] : init;
  return [
    ...others,
    ...(owned.includes(READY_TO_START) ? [readyToStartCondition(podStatus)] : []),
    generatePodInitializedCondition(spec, forInitialized, phase),
    generatePodReadyCondition(spec, others, containersForReady(kubeVersion, main, init), phase),
    generateContainersReadyCondition(spec, containersForReady(kubeVersion, main, init), phase),
    { type: "PodScheduled", status: "True" },
  ];
}

const READY_TO_START = "PodReadyToStartContainers";

/** From 1.29 on, sidecars must be ready as well. */
function containersForReady(
  kubeVersion: string,
  main: V1PodStatus["containerStatuses"],
  init: V1PodStatus["containerStatuses"],
) {
  return isAtLeast(kubeVersion, "1.29") ? [...(main ?? []), ...(init ?? [])] : main;
}

/** The sandbox exists and has its network. Mirrors GeneratePodReadyToStartContainersCondition in status/generate.go. */
function readyToStartCondition({ sandboxStatuses }: PodStatus): V1PodCondition {
  const [newest] = sandboxStatuses;
  const hasNetwork = newest !== undefined && (newest.usesHostNetwork || newest.ips.length > 0);
  return { type: READY_TO_START, status: newest?.state === "ready" && hasNetwork ? "True" : "False" };
}
