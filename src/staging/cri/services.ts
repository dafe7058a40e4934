import { type AnyRpc, rpcsOf } from "./grpc/rpc.js";
import {
  AttachRequest,
  AttachResponse,
  CheckpointContainerRequest,
  CheckpointContainerResponse,
  ContainerEventResponse,
  ContainerStatusRequest,
  ContainerStatusResponse,
  CreateContainerRequest,
  CreateContainerResponse,
  ExecRequest,
  ExecResponse,
  ExecSyncRequest,
  ExecSyncResponse,
  GetEventsRequest,
  ListContainersRequest,
  ListContainersResponse,
  PortForwardRequest,
  PortForwardResponse,
  RemoveContainerRequest,
  RemoveContainerResponse,
  ReopenContainerLogRequest,
  ReopenContainerLogResponse,
  StartContainerRequest,
  StartContainerResponse,
  StopContainerRequest,
  StopContainerResponse,
  StreamContainersRequest,
  StreamContainersResponse,
  UpdateContainerResourcesRequest,
  UpdateContainerResourcesResponse,
} from "./messages/container-calls.js";
import {
  ImageFsInfoRequest,
  ImageFsInfoResponse,
  ImageStatusRequest,
  ImageStatusResponse,
  ListImagesRequest,
  ListImagesResponse,
  PullImageRequest,
  PullImageResponse,
  RemoveImageRequest,
  RemoveImageResponse,
  StreamImagesRequest,
  StreamImagesResponse,
} from "./messages/image.js";
import {
  RuntimeConfigRequest,
  RuntimeConfigResponse,
  StatusRequest,
  StatusResponse,
  UpdateRuntimeConfigRequest,
  UpdateRuntimeConfigResponse,
  VersionRequest,
  VersionResponse,
} from "./messages/runtime.js";
import {
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  PodSandboxStatusRequest,
  PodSandboxStatusResponse,
  RemovePodSandboxRequest,
  RemovePodSandboxResponse,
  RunPodSandboxRequest,
  RunPodSandboxResponse,
  StopPodSandboxRequest,
  StopPodSandboxResponse,
  StreamPodSandboxesRequest,
  StreamPodSandboxesResponse,
  UpdatePodSandboxResourcesRequest,
  UpdatePodSandboxResourcesResponse,
} from "./messages/sandbox.js";
import {
  ContainerStatsRequest,
  ContainerStatsResponse,
  ListContainerStatsRequest,
  ListContainerStatsResponse,
  ListMetricDescriptorsRequest,
  ListMetricDescriptorsResponse,
  ListPodSandboxMetricsRequest,
  ListPodSandboxMetricsResponse,
  ListPodSandboxStatsRequest,
  ListPodSandboxStatsResponse,
  PodSandboxStatsRequest,
  PodSandboxStatsResponse,
  StreamContainerStatsRequest,
  StreamContainerStatsResponse,
  StreamPodSandboxMetricsRequest,
  StreamPodSandboxMetricsResponse,
  StreamPodSandboxStatsRequest,
  StreamPodSandboxStatsResponse,
} from "./messages/stats.js";

const runtime = rpcsOf("runtime.v1.RuntimeService");
const images = rpcsOf("runtime.v1.ImageService");

/**
 * The rpcs of runtime.v1.RuntimeService, in upstream's order, as of v1.36 (the Stream calls are newer than most runtimes).
 * Mirrors staging/src/k8s.io/cri-api/pkg/apis/runtime/v1/api.proto.
 */
export const RUNTIME_SERVICE = {
  version: runtime.unary("Version", VersionRequest, VersionResponse),
  runPodSandbox: runtime.unary("RunPodSandbox", RunPodSandboxRequest, RunPodSandboxResponse),
  stopPodSandbox: runtime.unary("StopPodSandbox", StopPodSandboxRequest, StopPodSandboxResponse),
  removePodSandbox: runtime.unary("RemovePodSandbox", RemovePodSandboxRequest, RemovePodSandboxResponse),
  podSandboxStatus: runtime.unary("PodSandboxStatus", PodSandboxStatusRequest, PodSandboxStatusResponse),
  listPodSandbox: runtime.unary("ListPodSandbox", ListPodSandboxRequest, ListPodSandboxResponse),
  streamPodSandboxes: runtime.stream("StreamPodSandboxes", StreamPodSandboxesRequest, StreamPodSandboxesResponse),
  createContainer: runtime.unary("CreateContainer", CreateContainerRequest, CreateContainerResponse),
  startContainer: runtime.unary("StartContainer", StartContainerRequest, StartContainerResponse),
  stopContainer: runtime.unary("StopContainer", StopContainerRequest, StopContainerResponse),
  removeContainer: runtime.unary("RemoveContainer", RemoveContainerRequest, RemoveContainerResponse),
  listContainers: runtime.unary("ListContainers", ListContainersRequest, ListContainersResponse),
  streamContainers: runtime.stream("StreamContainers", StreamContainersRequest, StreamContainersResponse),
  containerStatus: runtime.unary("ContainerStatus", ContainerStatusRequest, ContainerStatusResponse),
  updateContainerResources: runtime.unary(
    "UpdateContainerResources",
    UpdateContainerResourcesRequest,
    UpdateContainerResourcesResponse,
  ),
  reopenContainerLog: runtime.unary("ReopenContainerLog", ReopenContainerLogRequest, ReopenContainerLogResponse),
  execSync: runtime.unary("ExecSync", ExecSyncRequest, ExecSyncResponse),
  exec: runtime.unary("Exec", ExecRequest, ExecResponse),
  attach: runtime.unary("Attach", AttachRequest, AttachResponse),
  portForward: runtime.unary("PortForward", PortForwardRequest, PortForwardResponse),
  containerStats: runtime.unary("ContainerStats", ContainerStatsRequest, ContainerStatsResponse),
  listContainerStats: runtime.unary("ListContainerStats", ListContainerStatsRequest, ListContainerStatsResponse),
  streamContainerStats: runtime.stream(
    "StreamContainerStats",
    StreamContainerStatsRequest,
    StreamContainerStatsResponse,
  ),
  podSandboxStats: runtime.unary("PodSandboxStats", PodSandboxStatsRequest, PodSandboxStatsResponse),
  listPodSandboxStats: runtime.unary("ListPodSandboxStats", ListPodSandboxStatsRequest, ListPodSandboxStatsResponse),
  streamPodSandboxStats: runtime.stream(
    "StreamPodSandboxStats",
    StreamPodSandboxStatsRequest,
    StreamPodSandboxStatsResponse,
  ),
  updateRuntimeConfig: runtime.unary("UpdateRuntimeConfig", UpdateRuntimeConfigRequest, UpdateRuntimeConfigResponse),
  status: runtime.unary("Status", StatusRequest, StatusResponse),
  checkpointContainer: runtime.unary("CheckpointContainer", CheckpointContainerRequest, CheckpointContainerResponse),
  getContainerEvents: runtime.stream("GetContainerEvents", GetEventsRequest, ContainerEventResponse),
  listMetricDescriptors: runtime.unary(
    "ListMetricDescriptors",
    ListMetricDescriptorsRequest,
    ListMetricDescriptorsResponse,
  ),
  listPodSandboxMetrics: runtime.unary(
    "ListPodSandboxMetrics",
    ListPodSandboxMetricsRequest,
    ListPodSandboxMetricsResponse,
  ),
  streamPodSandboxMetrics: runtime.stream(
    "StreamPodSandboxMetrics",
    StreamPodSandboxMetricsRequest,
    StreamPodSandboxMetricsResponse,
  ),
  runtimeConfig: runtime.unary("RuntimeConfig", RuntimeConfigRequest, RuntimeConfigResponse),
  updatePodSandboxResources: runtime.unary(
    "UpdatePodSandboxResources",
    UpdatePodSandboxResourcesRequest,
    UpdatePodSandboxResourcesResponse,
  ),
} as const;

/** The rpcs of runtime.v1.ImageService. */
export const IMAGE_SERVICE = {
  listImages: images.unary("ListImages", ListImagesRequest, ListImagesResponse),
  streamImages: images.stream("StreamImages", StreamImagesRequest, StreamImagesResponse),
  imageStatus: images.unary("ImageStatus", ImageStatusRequest, ImageStatusResponse),
  pullImage: images.unary("PullImage", PullImageRequest, PullImageResponse),
  removeImage: images.unary("RemoveImage", RemoveImageRequest, RemoveImageResponse),
  imageFsInfo: images.unary("ImageFsInfo", ImageFsInfoRequest, ImageFsInfoResponse),
} as const;

const NOT_IN_V1ALPHA2: readonly AnyRpc[] = [
  RUNTIME_SERVICE.checkpointContainer,
  RUNTIME_SERVICE.listMetricDescriptors,
  RUNTIME_SERVICE.listPodSandboxMetrics,
  RUNTIME_SERVICE.runtimeConfig,
  RUNTIME_SERVICE.updatePodSandboxResources,
];

/** Whether CRI v1alpha2 has the call. Kubelets up to v1.25 fall back to it, and v1.26 dropped it. */
export function isInV1alpha2(rpc: AnyRpc): boolean {
  return !rpc.isStream && !NOT_IN_V1ALPHA2.includes(rpc);
}
