import { one, string } from "../../staging/apimachinery/protobuf/fields.js";
import { message } from "../../staging/apimachinery/protobuf/message.js";
import type { RpcResult } from "../../staging/cri/grpc/status.js";
import { Container, ContainerMetadata } from "../../staging/cri/messages/container.js";
import { ContainerState, PodSandboxState } from "../../staging/cri/messages/enums.js";
import { PodSandbox, PodSandboxMetadata } from "../../staging/cri/messages/sandbox.js";
import { ContainerStats as CriContainerStats } from "../../staging/cri/messages/stats.js";
import { ImageSpec } from "../../staging/cri/messages/values.js";
import { listContainerStatsOf, listContainersOf, listPodSandboxOf } from "../../staging/cri/projections.js";
import type { RemoteRuntimeService } from "../../staging/cri/remote/remote-runtime.js";
import type { RemoteStats } from "../../staging/cri/remote/remote-stats.js";
import { defined } from "../../util/defined.js";
import type { ContainerStats, CpuStats, FsStats, MemoryStats, PodStats } from "../apis/stats/v1alpha1.js";
import { toMs, toNumber } from "../kuberuntime/convert.js";
import { RuntimeCallError } from "../kuberuntime/kube-runtime.js";
import { CpuUsageCache } from "./cpu-usage-cache.js";
import { type SandboxStats, SandboxStatsReader } from "./sandbox-stats.js";

/** The fields of a container that its statistics need. */
const LISTED_CONTAINER = listContainersOf(
  message("Container", {
    ...Container.pick("id", "podSandboxId", "createdAt").fields,
    metadata: one(3, ContainerMetadata.pick("name")),
    image: one(4, ImageSpec.pick("image")),
  }),
);

/** The fields of a sandbox that name its pod. */
const LISTED_SANDBOX = listPodSandboxOf(
  message("PodSandbox", {
    ...PodSandbox.pick("id", "state", "createdAt").fields,
    metadata: one(2, PodSandboxMetadata.pick("name", "uid", "namespace")),
  }),
);

/** Decodes only the ID of the attributes, because labels and annotations are most of such a list. */
const LISTED_STATS = listContainerStatsOf(
  message("ContainerStats", {
    ...CriContainerStats.pick("cpu", "memory", "writableLayer").fields,
    attributes: one(1, message("ContainerAttributes", { id: string(1) })),
  }),
);

/** The statistics of a container that the kubelet reads. */
interface ReportedStats extends Pick<CriContainerStats, "cpu" | "memory" | "writableLayer"> {
  readonly attributes: { readonly id: string } | undefined;
}

/** The parts of a container runtime's client that statistics need. */
export interface CriStatsProviderDeps {
  readonly runtime: Pick<RemoteRuntimeService, "listContainersAs" | "listPodSandboxAs">;
  readonly stats: Pick<RemoteStats, "listContainerStatsAs" | "listPodSandboxStatsAs">;
}

/** A pod's statistics while containers are added. */
type GrowingPod = { -readonly [K in keyof PodStats]: PodStats[K] } & { containers: ContainerStats[] };

/** A running container as the runtime knows it. */
export interface ListedContainer {
  readonly containerId: string;
  readonly image: string;
  readonly podRef: PodStats["podRef"];
  readonly stats: ContainerStats;
}

export interface ListedPodStats {
  readonly pods: readonly PodStats[];
  readonly containers: readonly ListedContainer[];
}

export interface ListOptions {
  /** takes a reading of the CPU usage per second. The eviction manager does so every ten seconds. */
  readonly updateCpuUsage: boolean;
  /** only CPU and memory of containers, without the disk */
  readonly onlyCpuAndMemory: boolean;
  /** also the network and the processes of pods: one more call */
  readonly sandboxes: boolean;
}

/**
 * The statistics of pods, as the container runtime reports them for their running containers.
 *
 * Mirrors pkg/kubelet/stats/cri_stats_provider.go (listPodStats, ListPodCPUAndMemoryStats, makeContainerStats,
 * addPodCPUMemoryStats).
 * Differs: there is no cAdvisor, so a pod's CPU and memory are the sums of its containers, as upstream without the cgroup of
 * the pod.
 */
export class CriStatsProvider {
  readonly #cpu = new CpuUsageCache();
  readonly #sandboxes: SandboxStatsReader;

  constructor(readonly deps: CriStatsProviderDeps) {
    this.#sandboxes = new SandboxStatsReader(deps.stats);
  }

  /** @throws RuntimeCallError */
  async listPodStats(
    { updateCpuUsage, onlyCpuAndMemory, sandboxes: withSandboxes }: ListOptions,
    signal: AbortSignal,
  ): Promise<ListedPodStats> {
    const { runtime, stats } = this.deps;
    const noSandboxes: ReadonlyMap<string, SandboxStats> = new Map();
    const running = { state: { state: ContainerState.CONTAINER_RUNNING } };
    const [containers, sandboxes, reported, ofSandbox] = await Promise.all([
      answered("failed to list all containers", runtime.listContainersAs(LISTED_CONTAINER, running, signal)),
      answered("failed to list all pod sandboxes", runtime.listPodSandboxAs(LISTED_SANDBOX, undefined, signal)),
      answered("failed to list all container stats", stats.listContainerStatsAs(LISTED_STATS, signal)),
      withSandboxes ? this.#sandboxes.list(signal) : noSandboxes,
    ]);
    const containerOf = new Map(containers.map((one) => [one.id, one]));
    const sandboxOf = new Map(removeTerminatedPods(sandboxes).map((one) => [one.id, one]));
    const pods = new Map<string, GrowingPod>();
    const listed: ListedContainer[] = [];
    for (const one of reported) {
      const container = containerOf.get(one.attributes?.id ?? "");
      const sandbox = sandboxOf.get(container?.podSandboxId ?? "");
      if (container === undefined || sandbox?.metadata === undefined) continue;
      if (updateCpuUsage) this.#cpu.update(one);
      const { name, namespace, uid } = sandbox.metadata;
      const pod = pods.get(sandbox.id) ?? {
        podRef: { name, namespace, uid },
        startTimeMs: toMs(sandbox.createdAt),
        containers: [],
        ...ofSandbox.get(sandbox.id),
      };
      pods.set(sandbox.id, pod);
      const startTimeMs = toMs(container.createdAt);
      const reading = onlyCpuAndMemory ? { ...one, writableLayer: undefined } : one;
      const containerName = container.metadata?.name ?? "";
      const made = makeContainerStats(containerName, startTimeMs, reading, this.#cpu.usageNanoCores(one));
      pod.containers.push(made);
      addPodCpuMemoryStats(pod, made);
      const image = container.image?.image ?? "";
      listed.push({ containerId: container.id, image, podRef: pod.podRef, stats: made });
    }
    this.#cpu.cleanUp();
    return { pods: [...pods.values()], containers: listed };
  }
}

/** @throws RuntimeCallError with upstream's words before the runtime's */
async function answered<T>(what: string, call: Promise<RpcResult<T>>): Promise<T> {
  const result = await call;
  if (result.outcome === "ok") return result.value;
  throw new RuntimeCallError({ ...result, text: `${what}: ${result.text}` });
}

interface Sandbox {
  readonly id: string;
  readonly state: number;
  readonly createdAt: bigint;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string } | undefined;
}

/** If a pod has several sandboxes, the ready ones count, or else the newest. Mirrors removeTerminatedPods. */
function removeTerminatedPods(sandboxes: readonly Sandbox[]): Sandbox[] {
  const byPod = new Map<string, Sandbox[]>();
  for (const sandbox of sandboxes) {
    const key = sandbox.metadata?.uid ?? sandbox.id;
    const others = byPod.get(key);
    if (others === undefined) byPod.set(key, [sandbox]);
    else others.push(sandbox);
  }
  return [...byPod.values()].flatMap((those) => {
    const ready = those.filter(({ state }) => state === PodSandboxState.SANDBOX_READY);
    if (ready.length > 0) return ready;
    return those.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, 1);
  });
}

function makeContainerStats(
  name: string,
  startTimeMs: number,
  { cpu, memory, writableLayer }: ReportedStats,
  usageNanoCores: number | undefined,
): ContainerStats {
  const cpuStats: CpuStats | undefined = cpu && {
    timeMs: toMs(cpu.timestamp),
    ...defined({ usageNanoCores, usageCoreNanoSeconds: toNumber(cpu.usageCoreNanoSeconds) }),
  };
  const memoryStats: MemoryStats | undefined = memory && {
    timeMs: toMs(memory.timestamp),
    ...defined({
      availableBytes: toNumber(memory.availableBytes),
      usageBytes: toNumber(memory.usageBytes),
      workingSetBytes: toNumber(memory.workingSetBytes),
      rssBytes: toNumber(memory.rssBytes),
      pageFaults: toNumber(memory.pageFaults),
      majorPageFaults: toNumber(memory.majorPageFaults),
    }),
  };
  const rootfs: FsStats | undefined = writableLayer && {
    timeMs: toMs(writableLayer.timestamp),
    ...defined({ usedBytes: toNumber(writableLayer.usedBytes), inodesUsed: toNumber(writableLayer.inodesUsed) }),
  };
  return { name, startTimeMs, ...defined({ cpu: cpuStats, memory: memoryStats, rootfs }) };
}

/** Adds a container to its pod's sums. */
function addPodCpuMemoryStats(pod: GrowingPod, { cpu, memory }: ContainerStats): void {
  if (cpu !== undefined) pod.cpu = pod.cpu === undefined ? cpu : sum(pod.cpu, cpu);
  if (memory !== undefined) pod.memory = pod.memory === undefined ? memory : sum(pod.memory, memory);
}

/** The sums of all figures that either has; the time is the newer one. */
function sum<T extends CpuStats | MemoryStats>(left: T, right: T): T {
  const total: Record<string, number> = {};
  for (const [key, figure] of [...Object.entries(left), ...Object.entries(right)] as [string, number][]) {
    total[key] = key === "timeMs" ? Math.max(total[key] ?? 0, figure) : (total[key] ?? 0) + figure;
  }
  return total as unknown as T;
}
