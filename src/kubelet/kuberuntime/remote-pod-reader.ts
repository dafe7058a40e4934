import { type Init, many, one, stringMap } from "../../staging/apimachinery/protobuf/fields.js";
import { message } from "../../staging/apimachinery/protobuf/message.js";
import type { RpcResult } from "../../staging/cri/grpc/status.js";
import { CONTAINER_NAME_LABEL, POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "../../staging/cri/labels.js";
import {
  Container,
  type ContainerFilter,
  ContainerMetadata,
  ContainerStatus,
} from "../../staging/cri/messages/container.js";
import type { ContainerEventResponse } from "../../staging/cri/messages/container-calls.js";
import {
  PodSandbox,
  type PodSandboxFilter,
  PodSandboxMetadata,
  PodSandboxStatus,
} from "../../staging/cri/messages/sandbox.js";
import { ImageSpec, Mount } from "../../staging/cri/messages/values.js";
import {
  containerStatusOf,
  listContainersOf,
  listPodSandboxOf,
  podSandboxStatusOf,
} from "../../staging/cri/projections.js";
import type { RemoteRuntimeService } from "../../staging/cri/remote/remote-runtime.js";
import {
  CONTAINER_HASH_ANNOTATION,
  RESTART_COUNT_ANNOTATION,
  TERMINATION_MESSAGE_PATH_ANNOTATION,
  TERMINATION_MESSAGE_POLICY_ANNOTATION,
} from "./labels.js";
import type {
  ListedContainer,
  ListedSandbox,
  PodReader,
  ReportedContainer,
  ReportedSandbox,
} from "./runtime-service.js";

/** The fields of a sandbox that relisting reads: its pod, whether it is ready, and when it was created. */
const LISTED_SANDBOX = listPodSandboxOf(
  message("PodSandbox", {
    ...PodSandbox.pick("id", "state", "createdAt").fields,
    metadata: one(2, PodSandboxMetadata.pick("name", "uid", "namespace")),
  }),
);

/** The fields of a container that relisting reads: its state, and the labels that name its pod. Of the image, that it is set. */
const LISTED_CONTAINER = listContainersOf(
  message("Container", {
    ...Container.pick("id", "state").fields,
    metadata: one(3, ContainerMetadata.pick("name")),
    image: one(4, message("ImageSpec", {})),
    labels: stringMap(8, [POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL]),
  }),
);

/** The fields of a sandbox's status that inspecting reads, without labels and annotations. */
const REPORTED_SANDBOX = podSandboxStatusOf(
  PodSandboxStatus.pick("id", "metadata", "state", "createdAt", "network", "linux"),
);

const REPORTED_LABELS = [CONTAINER_NAME_LABEL];
const REPORTED_ANNOTATIONS = [
  CONTAINER_HASH_ANNOTATION,
  RESTART_COUNT_ANNOTATION,
  TERMINATION_MESSAGE_PATH_ANNOTATION,
  TERMINATION_MESSAGE_POLICY_ANNOTATION,
];
const REPORTED_TIMES = ["createdAt", "startedAt", "finishedAt"] as const;

/** The fields of a container's status that inspecting reads. The first relist reads thousands of them. */
const REPORTED_CONTAINER = containerStatusOf(
  message("ContainerStatus", {
    ...ContainerStatus.pick("id", "state", ...REPORTED_TIMES, "exitCode", "imageRef", "reason", "message", "logPath")
      .fields,
    metadata: one(2, ContainerMetadata.pick("name")),
    image: one(8, ImageSpec.pick("image")),
    labels: stringMap(12, REPORTED_LABELS),
    annotations: stringMap(13, REPORTED_ANNOTATIONS),
    mounts: many(14, Mount.pick("containerPath", "hostPath")),
  }),
);

/**
 * Reads pods through the kubelet's client of a runtime. Lists of thousands of containers are decoded through
 * projections, because only a tenth of each entry is used.
 */
export class RemotePodReader implements PodReader {
  constructor(readonly service: RemoteRuntimeService) {}

  listPodSandbox(
    filter: Init<typeof PodSandboxFilter>,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly ListedSandbox[]>> {
    return this.service.listPodSandboxAs(LISTED_SANDBOX, filter, signal);
  }

  listContainers(
    filter: Init<typeof ContainerFilter>,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly ListedContainer[]>> {
    return this.service.listContainersAs(LISTED_CONTAINER, filter, signal);
  }

  podSandboxStatus(
    podSandboxId: string,
    signal: AbortSignal,
  ): Promise<RpcResult<{ readonly status: ReportedSandbox | undefined }>> {
    return this.service.podSandboxStatusAs(REPORTED_SANDBOX, podSandboxId, signal);
  }

  containerStatus(
    containerId: string,
    signal: AbortSignal,
  ): Promise<RpcResult<{ readonly status: ReportedContainer | undefined }>> {
    return this.service.containerStatusAs(REPORTED_CONTAINER, containerId, signal);
  }

  getContainerEvents(signal: AbortSignal): AsyncIterable<ContainerEventResponse> {
    return this.service.getContainerEvents(signal);
  }
}
