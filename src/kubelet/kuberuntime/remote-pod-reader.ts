import { Container, type ContainerFilter, ContainerMetadata } from "../../cri/messages/container.js";
import type { ContainerEventResponse, ContainerStatusResponse } from "../../cri/messages/container-calls.js";
import {
  PodSandbox,
  type PodSandboxFilter,
  PodSandboxMetadata,
  type PodSandboxStatusResponse,
} from "../../cri/messages/sandbox.js";
import { listContainersOf, listPodSandboxOf } from "../../cri/projections.js";
import type { RpcResult } from "../../cri/status.js";
import { type Init, one, stringMap } from "../../protobuf/fields.js";
import { message } from "../../protobuf/message.js";
import type { RemoteRuntimeService } from "../cri/remote-runtime.js";
import { POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "./labels.js";
import type { ListedContainer, ListedSandbox, PodReader } from "./runtime-service.js";

/** What relisting reads of a sandbox: the pod it belongs to, whether it is ready, and when it was made. */
const LISTED_SANDBOX = listPodSandboxOf(
  message("PodSandbox", {
    ...PodSandbox.pick("id", "state", "createdAt").fields,
    metadata: one(2, PodSandboxMetadata.pick("name", "uid", "namespace")),
  }),
);

/** What relisting reads of a container: its state, and the labels that say whose it is. Of the image, that there is one. */
const LISTED_CONTAINER = listContainersOf(
  message("Container", {
    ...Container.pick("id", "state").fields,
    metadata: one(3, ContainerMetadata.pick("name")),
    image: one(4, message("ImageSpec", {})),
    labels: stringMap(8, [POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL]),
  }),
);

/**
 * Reads pods through the kubelet's client of a runtime. Lists of thousands of containers are decoded through projections:
 * a tenth of each entry is all that is looked at.
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

  podSandboxStatus(podSandboxId: string, signal: AbortSignal): Promise<RpcResult<PodSandboxStatusResponse>> {
    return this.service.podSandboxStatus(podSandboxId, false, signal);
  }

  containerStatus(containerId: string, signal: AbortSignal): Promise<RpcResult<ContainerStatusResponse>> {
    return this.service.containerStatus(containerId, false, signal);
  }

  getContainerEvents(signal: AbortSignal): AsyncIterable<ContainerEventResponse> {
    return this.service.getContainerEvents(signal);
  }
}
