import type { Init } from "../../staging/apimachinery/protobuf/fields.js";
import type { Handlers } from "../../staging/cri/grpc/grpc-server.js";
import { RpcError } from "../../staging/cri/grpc/status.js";
import type { Container, ContainerStatus } from "../../staging/cri/messages/container.js";
import { ContainerState, PodSandboxState } from "../../staging/cri/messages/enums.js";
import type { PodSandbox, PodSandboxStatus } from "../../staging/cri/messages/sandbox.js";
import type { CriHandlers } from "../../staging/cri/server.js";
import type { IMAGE_SERVICE, RUNTIME_SERVICE } from "../../staging/cri/services.js";
import { defined } from "../../util/defined.js";
import { hasLabels, type VirtualContainer, type VirtualSandbox } from "./records.js";
import type { VirtualPods } from "./virtual-pods.js";

/** The runtime's name in `Version`, and the prefix of container IDs. */
const RUNTIME_NAME = "kubelab-handler";
const STATES = {
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_EXITED,
} as const;
const NO_STREAMS = "a virtual pod is a function call, not a process: no other command can run in it";

/** The Container Runtime Interface of virtual pods: turns the kubelet's requests into calls of the handler. */
export function virtualRuntimeCalls(pods: VirtualPods, version: string): CriHandlers {
  return {
    runtime: { ...itself(version), ...sandboxCalls(pods), ...containerCalls(pods) },
    image: imageCalls(),
  };
}

function itself(version: string) {
  return {
    version: () => ({
      version: "0.1.0",
      runtimeName: RUNTIME_NAME,
      runtimeVersion: version,
      runtimeApiVersion: "v1",
    }),
    status: () => ({
      status: { conditions: ["RuntimeReady", "NetworkReady"].map((type) => ({ type, status: true })) },
    }),
    updateRuntimeConfig: () => ({}),
    listContainerStats: () => ({ stats: [] }),
    listPodSandboxStats: () => ({ stats: [] }),
    exec: () => {
      throw new RpcError("Unimplemented", NO_STREAMS);
    },
    execSync: () => {
      throw new RpcError("Unimplemented", NO_STREAMS);
    },
    attach: () => {
      throw new RpcError("Unimplemented", NO_STREAMS);
    },
    portForward: () => {
      throw new RpcError("Unimplemented", NO_STREAMS);
    },
  } satisfies Handlers<typeof RUNTIME_SERVICE>;
}

function sandboxCalls(pods: VirtualPods) {
  const { records } = pods;
  return {
    runPodSandbox: ({ config }) => {
      if (config === undefined) throw new RpcError("InvalidArgument", "a sandbox needs a config");
      return { podSandboxId: pods.runSandbox(config).sandboxId };
    },
    stopPodSandbox: async ({ podSandboxId }) => {
      const sandbox = records.sandboxes.get(podSandboxId);
      if (sandbox !== undefined) await pods.stopSandbox(sandbox);
      return {};
    },
    removePodSandbox: async ({ podSandboxId }) => {
      const sandbox = records.sandboxes.get(podSandboxId);
      if (sandbox === undefined) return {};
      await pods.stopSandbox(sandbox);
      records.remove(sandbox);
      return {};
    },
    podSandboxStatus: ({ podSandboxId }) => ({ status: sandboxStatus(records.sandbox(podSandboxId)) }),
    listPodSandbox: ({ filter }) => ({
      items: [...records.sandboxes.values()]
        .filter(
          (one) =>
            (!filter?.id || one.sandboxId === filter.id) &&
            (filter?.state === undefined || sandboxState(one) === filter.state.state) &&
            hasLabels(one.config.labels, filter?.labelSelector),
        )
        .map(sandboxItem),
    }),
  } satisfies Handlers<typeof RUNTIME_SERVICE>;
}

function containerCalls(pods: VirtualPods) {
  const { records } = pods;
  return {
    createContainer: ({ podSandboxId, config, sandboxConfig }) => {
      if (config === undefined) throw new RpcError("InvalidArgument", "a container needs a config");
      const logDirectory = sandboxConfig?.logDirectory ?? "";
      return { containerId: pods.createContainer(records.sandbox(podSandboxId), config, logDirectory).containerId };
    },
    startContainer: ({ containerId }) => {
      pods.startContainer(records.container(containerId));
      return {};
    },
    stopContainer: async ({ containerId, timeout }) => {
      const container = records.containers.get(containerId);
      if (container !== undefined) await pods.stopContainer(container, Math.max(0, Number(timeout)) * 1000);
      return {};
    },
    removeContainer: async ({ containerId }) => {
      const container = records.containers.get(containerId);
      if (container === undefined) return {};
      await pods.stopContainer(container, 0);
      records.containers.delete(containerId);
      container.sandbox.containers.delete(containerId);
      return {};
    },
    containerStatus: ({ containerId }) => ({ status: containerStatus(records.container(containerId)) }),
    listContainers: ({ filter }) => ({
      containers: [...records.containers.values()]
        .filter(
          (one) =>
            (!filter?.id || one.containerId === filter.id) &&
            (!filter?.podSandboxId || one.sandbox.sandboxId === filter.podSandboxId) &&
            (filter?.state === undefined || STATES[one.state] === filter.state.state) &&
            hasLabels(one.config.labels, filter?.labelSelector),
        )
        .map(containerItem),
    }),
    reopenContainerLog: ({ containerId }) => {
      records.container(containerId).log?.reopen();
      return {};
    },
  } satisfies Handlers<typeof RUNTIME_SERVICE>;
}

/** Every image counts as pulled, because the handler does not use it. */
function imageCalls() {
  return {
    listImages: () => ({ images: [] }),
    imageStatus: ({ image }) => ({ image: { id: image?.image ?? "", repoTags: [image?.image ?? ""], size: 1 } }),
    pullImage: ({ image }) => ({ imageRef: image?.image ?? "" }),
    removeImage: () => ({}),
    imageFsInfo: () => ({ imageFilesystems: [{ fsId: { mountpoint: "/" }, usedBytes: { value: 0 } }] }),
  } satisfies Handlers<typeof IMAGE_SERVICE>;
}

function sandboxState({ isReady }: VirtualSandbox): number {
  return isReady ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}

function sandboxItem(sandbox: VirtualSandbox): Init<typeof PodSandbox> {
  const { sandboxId, config, createdAt } = sandbox;
  return { ...metadataOf(sandbox), id: sandboxId, state: sandboxState(sandbox), createdAt, labels: config.labels };
}

function sandboxStatus(sandbox: VirtualSandbox): Init<typeof PodSandboxStatus> {
  const { sandboxId, config, createdAt } = sandbox;
  const { labels, annotations } = config;
  return {
    ...metadataOf(sandbox),
    id: sandboxId,
    state: sandboxState(sandbox),
    createdAt,
    linux: { namespaces: { options: config.linux?.securityContext?.namespaceOptions ?? {} } },
    labels,
    annotations,
  };
}

function metadataOf({ config }: VirtualSandbox | VirtualContainer): Pick<Init<typeof PodSandbox>, "metadata"> {
  return config.metadata === undefined ? {} : { metadata: config.metadata };
}

function containerItem({ config, ...container }: VirtualContainer): Init<typeof Container> {
  const image = config.image?.image ?? "";
  return {
    id: container.containerId,
    podSandboxId: container.sandbox.sandboxId,
    ...defined({ metadata: config.metadata }),
    image: { image },
    imageRef: image,
    state: STATES[container.state],
    createdAt: container.createdAt,
    labels: config.labels,
    annotations: config.annotations,
  };
}

function containerStatus({ config, ...container }: VirtualContainer): Init<typeof ContainerStatus> {
  const { containerId, createdAt, startedAt, finishedAt, exitCode, reason, message, logPath } = container;
  const image = config.image?.image ?? "";
  return {
    id: containerId,
    ...defined({ metadata: config.metadata }),
    state: STATES[container.state],
    createdAt,
    startedAt,
    finishedAt,
    exitCode,
    image: { image },
    imageRef: image,
    reason,
    message,
    labels: config.labels,
    annotations: config.annotations,
    mounts: config.mounts,
    logPath,
  };
}
