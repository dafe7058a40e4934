import type { Encoded, Init } from "../../../staging/apimachinery/protobuf/fields.js";
import { Container as ContainerItem, type ContainerStatus } from "../../../staging/cri/messages/container.js";
import {
  ContainerEventType,
  ContainerState,
  NamespaceMode,
  PodSandboxState,
} from "../../../staging/cri/messages/enums.js";
import {
  PodSandbox,
  type PodSandboxStatus,
  type PodSandboxStatusResponse,
} from "../../../staging/cri/messages/sandbox.js";
import { assertNever } from "../../../util/errors.js";
import type { ImageStore } from "../images/image-store.js";
import type { Container, ContainerPhase, Sandbox } from "./container.js";
import type { EventName } from "./events.js";

type ContainerStatusInit = Init<typeof ContainerStatus>;
type SandboxStatusInit = Init<typeof PodSandboxStatus>;

/** A phase as its CRI number. */
export function containerState(phase: ContainerPhase): number {
  switch (phase.state) {
    case "created":
      return ContainerState.CONTAINER_CREATED;
    case "running":
      return ContainerState.CONTAINER_RUNNING;
    case "exited":
      return ContainerState.CONTAINER_EXITED;
    default:
      return assertNever(phase);
  }
}

/** A sandbox state as its CRI number. */
export function sandboxState({ state }: Sandbox): number {
  return state === "ready" ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}

/** A container in a list; encoded once per change. */
export function containerItem(container: Container): Encoded {
  container.encoded ??= ContainerItem.encoded({
    id: container.containerId,
    podSandboxId: container.sandbox.sandboxId,
    metadata: container.metadata,
    ...(container.config.image === undefined ? {} : { image: container.config.image }),
    imageRef: container.image.imageId,
    imageId: container.image.imageId,
    state: containerState(container.phase),
    createdAt: container.createdAt,
    labels: container.config.labels,
    annotations: container.config.annotations,
  });
  return container.encoded;
}

/** A sandbox in a list; encoded once per change. */
export function sandboxItem(sandbox: Sandbox): Encoded {
  sandbox.encoded ??= PodSandbox.encoded({
    id: sandbox.sandboxId,
    metadata: sandbox.metadata,
    state: sandboxState(sandbox),
    createdAt: sandbox.createdAt,
    labels: sandbox.config.labels,
    annotations: sandbox.config.annotations,
    runtimeHandler: sandbox.runtimeHandler,
  });
  return sandbox.encoded;
}

/** Mirrors containerd's toCRIContainerStatus. */
export function containerStatus(container: Container, images: ImageStore): ContainerStatusInit {
  const { config, phase, image } = container;
  // Names of the image may have changed since.
  const present = images.find(image.imageId);
  const [tag] = present?.repoTags ?? [];
  const [digest] = present?.repoDigests ?? [];
  const user = container.running?.machine.user;
  return {
    id: container.containerId,
    metadata: container.metadata,
    state: containerState(phase),
    createdAt: container.createdAt,
    ...(phase.state === "created" ? {} : { startedAt: phase.startedAt }),
    ...(phase.state === "exited"
      ? { finishedAt: phase.finishedAt, exitCode: phase.exitCode, reason: phase.reason, message: phase.message }
      : {}),
    image: tag === undefined ? (config.image ?? {}) : { image: tag },
    imageRef: digest ?? image.imageId,
    imageId: image.imageId,
    labels: config.labels,
    annotations: config.annotations,
    mounts: config.mounts,
    logPath: container.logPath ?? "",
    ...(container.resources === undefined ? {} : { resources: { linux: container.resources } }),
    ...(user === undefined
      ? {}
      : { user: { linux: { uid: user.uid, gid: user.gid, supplementalGroups: user.groups.map(BigInt) } } }),
    stopSignal: config.stopSignal,
  };
}

/** Mirrors containerd's toCRISandboxStatus. */
function sandboxStatus(sandbox: Sandbox): SandboxStatusInit {
  const options = sandbox.config.linux?.securityContext?.namespaceOptions;
  return {
    id: sandbox.sandboxId,
    metadata: sandbox.metadata,
    state: sandboxState(sandbox),
    createdAt: sandbox.createdAt,
    network: sandbox.ip === undefined || sandbox.state !== "ready" ? {} : { ip: sandbox.ip },
    linux: {
      namespaces: {
        options: options ?? { network: NamespaceMode.POD, pid: NamespaceMode.POD, ipc: NamespaceMode.POD },
      },
    },
    labels: sandbox.config.labels,
    annotations: sandbox.config.annotations,
    runtimeHandler: sandbox.runtimeHandler,
  };
}

/** A sandbox with its containers, as PodSandboxStatus answers if container events are supported. */
export function podStatus(sandbox: Sandbox, images: ImageStore, now: bigint): Init<typeof PodSandboxStatusResponse> {
  return {
    status: sandboxStatus(sandbox),
    containersStatuses: [...sandbox.containers].map((container) => containerStatus(container, images)),
    timestamp: now,
  };
}

/** The event about a change to a container or, with its own ID, to a sandbox. */
export function containerEvent(name: EventName, id: string, sandbox: Sandbox, images: ImageStore, now: bigint) {
  return {
    containerId: id,
    containerEventType: ContainerEventType[name],
    createdAt: now,
    podSandboxStatus: sandboxStatus(sandbox),
    containersStatuses: [...sandbox.containers].map((container) => containerStatus(container, images)),
  };
}

/** `exited (137, OOMKilled)`, for people. */
export function phaseText(phase: ContainerPhase): string {
  return phase.state === "exited" ? `exited (${phase.exitCode}, ${phase.reason})` : phase.state;
}
