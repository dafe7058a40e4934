// The package's API, which programs import from "kubelab". See docs/package.md.
export type {
  ApiObject,
  Client,
  ClientRequest,
  ClientResponse,
  Cluster,
  ClusterClock,
  ClusterNode,
  ClusterOptions,
  ContainerRuntime,
  NodeOptions,
  NodeTaint,
  PodContainer,
  PodFunction,
  PodTask,
  RuntimeOptions,
  VirtualNodeOptions,
  WaitOptions,
  WatchedEvent,
  WatchOptions,
} from "./lab/envtest/api.js";
export { createVirtualNode, startCluster, startNode, startRuntime } from "./lab/envtest/start.js";
export { LabError, type LabErrorCode } from "./util/errors.js";
