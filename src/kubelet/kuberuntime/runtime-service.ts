import type { InitFields } from "../../staging/apimachinery/protobuf/fields.js";
import type { RpcResult } from "../../staging/cri/grpc/status.js";
import type { ContainerFilter, ContainerStatus } from "../../staging/cri/messages/container.js";
import type { ContainerEventResponse } from "../../staging/cri/messages/container-calls.js";
import type { PodSandboxFilter, PodSandboxStatus } from "../../staging/cri/messages/sandbox.js";

/** The fields of a sandbox that relisting reads. */
export interface ListedSandbox {
  readonly id: string;
  readonly metadata: { readonly name: string; readonly uid: string; readonly namespace: string } | undefined;
  /** PodSandboxState, or an unknown number */
  readonly state: number;
  /** ns since 1970 */
  readonly createdAt: bigint;
}

/** The fields of a container that relisting reads. */
export interface ListedContainer {
  readonly id: string;
  readonly metadata: { readonly name: string } | undefined;
  readonly image: object | undefined;
  /** ContainerState, or an unknown number */
  readonly state: number;
  /** the kubelet's own labels: they name the container's pod */
  readonly labels: Readonly<Record<string, string>>;
}

/** The fields of a container's status that the kubelet reads, with its own labels and annotations. */
export type ReportedContainer = Omit<
  ContainerStatus,
  "metadata" | "image" | "mounts" | "resources" | "imageId" | "user" | "stopSignal"
> & {
  readonly image: { readonly image: string } | undefined;
  readonly mounts: readonly { readonly containerPath: string; readonly hostPath: string }[];
};

/** The fields of a sandbox's status that the kubelet reads. */
export type ReportedSandbox = Omit<PodSandboxStatus, "labels" | "annotations" | "runtimeHandler">;

/**
 * What relisting needs of a container runtime. Failures are return values; only an abort is thrown.
 * Mirrors the part of staging/src/k8s.io/cri-api/pkg/apis/services.go (RuntimeService) that kuberuntime uses for
 * reading.
 */
export interface PodReader {
  listPodSandbox(
    filter: InitFields<typeof PodSandboxFilter.fields>,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly ListedSandbox[]>>;
  listContainers(
    filter: InitFields<typeof ContainerFilter.fields>,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly ListedContainer[]>>;
  podSandboxStatus(
    podSandboxId: string,
    signal: AbortSignal,
  ): Promise<RpcResult<{ readonly status: ReportedSandbox | undefined }>>;
  containerStatus(
    containerId: string,
    signal: AbortSignal,
  ): Promise<RpcResult<{ readonly status: ReportedContainer | undefined }>>;
  /** Ends when the runtime ends it or the signal aborts. @throws RpcError */
  getContainerEvents(signal: AbortSignal): AsyncIterable<ContainerEventResponse>;
}
