import type { Handlers } from "../../../staging/cri/grpc/grpc-server.js";
import { RpcError } from "../../../staging/cri/grpc/status.js";
import { CgroupDriver } from "../../../staging/cri/messages/enums.js";
import type { LinuxContainerResources } from "../../../staging/cri/messages/resources.js";
import type { RUNTIME_SERVICE } from "../../../staging/cri/services.js";
import { wrongState } from "../errors.js";
import type { Container } from "../state/container.js";
import type { Containers } from "../state/containers.js";
import type { RuntimeCore } from "../state/core.js";
import { newId } from "../state/ids.js";
import { PAUSE_IMAGE, RUNTIME_HANDLERS, type Sandboxes } from "../state/sandboxes.js";
import { containerItem, containerStatus, podStatus, sandboxItem } from "../state/status.js";
import { metricDescriptors, sandboxMetrics } from "../stats/metrics.js";
import { containerStats, sandboxStats } from "../stats/usage.js";
import type { Streams } from "../streaming/streams.js";
import { execSync } from "./exec.js";
import { selectContainers, selectSandboxes } from "./filters.js";
import { containerInfo, runtimeInfo, sandboxInfo } from "./verbose.js";

const RUNTIME_NAME = "kubelab";
/** containerd answers with the kubelet's own API version in `version`, and its own in the others. */
const KUBELET_API_VERSION = "0.1.0";

export interface CallDeps {
  readonly core: RuntimeCore;
  readonly sandboxes: Sandboxes;
  readonly containers: Containers;
  readonly streams: Streams;
  /** kubelab's version */
  readonly version: string;
}

/** The calls of runtime.v1.RuntimeService: each decodes a request, performs it and builds the answer. */
export function runtimeCalls(deps: CallDeps): Handlers<typeof RUNTIME_SERVICE> {
  return {
    ...runtimeItself(deps),
    ...sandboxCalls(deps),
    ...containerCalls(deps),
    ...streamingCalls(deps),
    ...statsCalls(deps),
  };
}

function runtimeItself({ core, version }: CallDeps) {
  return {
    // Mirrors containerd's pkg/cri/server/version.go (Version, AlphaVersion).
    version: (_request, { rpc }) => ({
      version: KUBELET_API_VERSION,
      runtimeName: RUNTIME_NAME,
      runtimeVersion: version,
      runtimeApiVersion: rpc.service.split(".")[1] ?? "",
    }),
    status: ({ verbose }) => ({
      status: {
        conditions: (["RuntimeReady", "NetworkReady"] as const).map((type) => {
          const { isTrue, reason, message } = core.conditions[type];
          return { type, status: isTrue, reason, message };
        }),
      },
      info: verbose ? runtimeInfo(core) : {},
      runtimeHandlers: RUNTIME_HANDLERS.map((name) => ({
        name,
        features: { recursiveReadOnlyMounts: false, userNamespaces: false },
      })),
      features: { supplementalGroupsPolicy: false },
    }),
    runtimeConfig: () => ({ linux: { cgroupDriver: CgroupDriver.CGROUPFS } }),
    updateRuntimeConfig: ({ runtimeConfig }) => {
      const cidr = runtimeConfig?.networkConfig?.podCidr ?? "";
      if (cidr !== "") core.network.useCidr(cidr);
      return {};
    },
    getContainerEvents: (_request, { signal }) => core.events.listen(signal),
  } satisfies Handlers<typeof RUNTIME_SERVICE>;
}

function sandboxCalls({ core, sandboxes }: CallDeps) {
  return {
    runPodSandbox: async ({ config, runtimeHandler }) => {
      const sandbox = sandboxes.run(config, runtimeHandler);
      await sandboxes.openHostPorts(sandbox);
      core.changes.made(sandbox, PAUSE_IMAGE);
      return { podSandboxId: sandbox.sandboxId };
    },
    stopPodSandbox: async ({ podSandboxId }, { signal }) => {
      const sandbox = core.sandboxes.find(podSandboxId);
      // Idempotent: a missing container counts as stopped.
      if (sandbox !== undefined) await sandboxes.stop(sandbox, signal);
      return {};
    },
    removePodSandbox: async ({ podSandboxId }, { signal }) => {
      const sandbox = core.sandboxes.find(podSandboxId);
      if (sandbox !== undefined) await sandboxes.remove(sandbox, signal);
      return {};
    },
    podSandboxStatus: ({ podSandboxId, verbose }) => {
      const sandbox = core.sandbox(podSandboxId);
      const status = podStatus(sandbox, core.images, core.time.now());
      return verbose ? { ...status, info: sandboxInfo(sandbox) } : status;
    },
    listPodSandbox: ({ filter }) => ({ items: Array.from(selectSandboxes(core, filter), sandboxItem) }),
    streamPodSandboxes: ({ filter }) =>
      inPieces(selectSandboxes(core, filter), (items) => ({ podSandboxes: items.map(sandboxItem) })),
    updatePodSandboxResources: ({ podSandboxId }) => {
      core.sandbox(podSandboxId);
      return {};
    },
  } satisfies Handlers<typeof RUNTIME_SERVICE>;
}

function containerCalls({ core, containers }: CallDeps) {
  return {
    createContainer: ({ podSandboxId, config, sandboxConfig }) => {
      const container = containers.create(core.sandbox(podSandboxId), config, sandboxConfig);
      return { containerId: container.containerId };
    },
    startContainer: ({ containerId }) => {
      containers.start(core.container(containerId));
      return {};
    },
    stopContainer: async ({ containerId, timeout }, { signal }) => {
      const container = core.containers.find(containerId);
      if (container !== undefined) await containers.stop(container, Math.max(0, Number(timeout)) * 1000, signal);
      return {};
    },
    removeContainer: async ({ containerId }, { signal }) => {
      const container = core.containers.find(containerId);
      if (container !== undefined) await containers.remove(container, signal);
      return {};
    },
    containerStatus: ({ containerId, verbose }) => {
      const container = core.container(containerId);
      const status = containerStatus(container, core.images);
      return { status, info: verbose ? containerInfo(container) : {} };
    },
    listContainers: ({ filter }) => ({ containers: Array.from(selectContainers(core, filter), containerItem) }),
    streamContainers: ({ filter }) =>
      inPieces(selectContainers(core, filter), (items) => ({ containers: items.map(containerItem) })),
    updateContainerResources: ({ containerId, linux }) => {
      updateResources(core.container(containerId), linux);
      return {};
    },
    reopenContainerLog: ({ containerId }) => {
      const container = core.container(containerId);
      if (!container.isRunning) throw wrongState("container is not running");
      container.running?.log?.reopen();
      return {};
    },
    execSync: ({ containerId, cmd, timeout }, { signal }) =>
      execSync(
        containers.running(core.container(containerId)),
        { cmd, timeout },
        core.clock,
        signal,
        newId(core.random, () => false),
      ),
    checkpointContainer: ({ containerId }) => {
      core.container(containerId);
      throw new RpcError("Unimplemented", "the embedded runtime does not support checkpoints");
    },
  } satisfies Handlers<typeof RUNTIME_SERVICE>;
}

function updateResources(container: Container, linux: LinuxContainerResources | undefined): void {
  if (container.isRemoving) throw wrongState(`container "${container.containerId}" is in removing state`);
  if (linux === undefined) return;
  container.resources = linux;
  const limit = Number(linux.memoryLimitInBytes);
  if (container.running !== undefined && limit > 0) container.running.machine.memory.limitBytes = limit;
}

function streamingCalls({ streams }: CallDeps) {
  return {
    exec: async (request) => ({ url: await streams.exec(request) }),
    attach: async (request) => ({ url: await streams.attach(request) }),
    portForward: async (request) => ({ url: await streams.portForward(request) }),
  } satisfies Handlers<typeof RUNTIME_SERVICE>;
}

function statsCalls({ core }: CallDeps) {
  return {
    containerStats: ({ containerId }) => ({ stats: containerStats(core.container(containerId), core) }),
    listContainerStats: ({ filter }) => ({
      stats: Array.from(selectContainers(core, filter), (container) => containerStats(container, core)),
    }),
    streamContainerStats: ({ filter }) =>
      inPieces(selectContainers(core, filter), (items) => ({
        containerStats: items.map((container) => containerStats(container, core)),
      })),
    podSandboxStats: ({ podSandboxId }) => ({ stats: sandboxStats(core.sandbox(podSandboxId), core) }),
    listPodSandboxStats: ({ filter }) => ({
      stats: Array.from(selectSandboxes(core, filter), (sandbox) => sandboxStats(sandbox, core)),
    }),
    streamPodSandboxStats: ({ filter }) =>
      inPieces(selectSandboxes(core, filter), (items) => ({
        podSandboxStats: items.map((sandbox) => sandboxStats(sandbox, core)),
      })),
    listMetricDescriptors: () => ({ descriptors: metricDescriptors() }),
    listPodSandboxMetrics: () => ({
      podMetrics: Array.from(core.sandboxes.values(), (sandbox) => sandboxMetrics(sandbox, core)),
    }),
    streamPodSandboxMetrics: () =>
      inPieces(core.sandboxes.values(), (items) => ({
        podSandboxMetrics: items.map((sandbox) => sandboxMetrics(sandbox, core)),
      })),
  } satisfies Handlers<typeof RUNTIME_SERVICE>;
}

/** The number of items in one message of a streamed list. */
const PIECE = 500;

async function* inPieces<T, R>(items: Iterable<T>, make: (items: readonly T[]) => R): AsyncGenerator<R> {
  const all = [...items];
  for (let at = 0; at < all.length; at += PIECE) yield make(all.slice(at, at + PIECE));
}
