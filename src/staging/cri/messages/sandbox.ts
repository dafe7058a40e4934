/** Pod sandboxes: the environment that a pod's containers share. Times are nanoseconds since 1970. */

import {
  bool,
  type Decoded,
  enumeration,
  int64,
  many,
  one,
  string,
  stringMap,
  uint32,
} from "../../apimachinery/protobuf/fields.js";
import { message } from "../../apimachinery/protobuf/message.js";
import { ContainerStatus } from "./container.js";
import { PodSandboxState } from "./enums.js";
import { LinuxContainerResources } from "./resources.js";
import { LinuxSandboxSecurityContext, NamespaceOption, WindowsSandboxSecurityContext } from "./security.js";
import { DNSConfig, PortMapping } from "./values.js";

const LinuxPodSandboxConfig = message("LinuxPodSandboxConfig", {
  cgroupParent: string(1),
  securityContext: one(2, LinuxSandboxSecurityContext),
  sysctls: stringMap(3),
  overhead: one(4, LinuxContainerResources),
  /** the sum of the containers' */
  resources: one(5, LinuxContainerResources),
});

const WindowsPodSandboxConfig = message("WindowsPodSandboxConfig", {
  securityContext: one(1, WindowsSandboxSecurityContext),
});

/** The pod's identity, and the number of its earlier sandboxes. */
export const PodSandboxMetadata = message("PodSandboxMetadata", {
  name: string(1),
  uid: string(2),
  namespace: string(3),
  attempt: uint32(4),
});
export type PodSandboxMetadata = Decoded<typeof PodSandboxMetadata>;

export const PodSandboxConfig = message("PodSandboxConfig", {
  metadata: one(1, PodSandboxMetadata),
  hostname: string(2),
  /** `/var/log/pods/NAMESPACE_NAME_UID`; containers' logs are below it */
  logDirectory: string(3),
  dnsConfig: one(4, DNSConfig),
  portMappings: many(5, PortMapping),
  labels: stringMap(6),
  annotations: stringMap(7),
  linux: one(8, LinuxPodSandboxConfig),
  windows: one(9, WindowsPodSandboxConfig),
});
export type PodSandboxConfig = Decoded<typeof PodSandboxConfig>;

export const RunPodSandboxRequest = message("RunPodSandboxRequest", {
  config: one(1, PodSandboxConfig),
  /** empty: the runtime's default */
  runtimeHandler: string(2),
});

export const RunPodSandboxResponse = message("RunPodSandboxResponse", { podSandboxId: string(1) });

export const StopPodSandboxRequest = message("StopPodSandboxRequest", { podSandboxId: string(1) });

export const StopPodSandboxResponse = message("StopPodSandboxResponse", {});

export const RemovePodSandboxRequest = message("RemovePodSandboxRequest", { podSandboxId: string(1) });

export const RemovePodSandboxResponse = message("RemovePodSandboxResponse", {});

export const PodSandboxStatusRequest = message("PodSandboxStatusRequest", {
  podSandboxId: string(1),
  verbose: bool(2),
});

const PodIP = message("PodIP", { ip: string(1) });

const PodSandboxNetworkStatus = message("PodSandboxNetworkStatus", { ip: string(1), additionalIps: many(2, PodIP) });

const Namespace = message("Namespace", { options: one(2, NamespaceOption) });

const LinuxPodSandboxStatus = message("LinuxPodSandboxStatus", { namespaces: one(1, Namespace) });

export const PodSandboxStatus = message("PodSandboxStatus", {
  id: string(1),
  metadata: one(2, PodSandboxMetadata),
  state: enumeration(3, { PodSandboxState }),
  createdAt: int64(4),
  network: one(5, PodSandboxNetworkStatus),
  linux: one(6, LinuxPodSandboxStatus),
  labels: stringMap(7),
  annotations: stringMap(8),
  runtimeHandler: string(9),
});
export type PodSandboxStatus = Decoded<typeof PodSandboxStatus>;

/** containersStatuses and timestamp: only from runtimes that send container events. */
export const PodSandboxStatusResponse = message("PodSandboxStatusResponse", {
  status: one(1, PodSandboxStatus),
  /** JSON texts by name, for a verbose request */
  info: stringMap(2),
  containersStatuses: many(3, ContainerStatus),
  timestamp: int64(4),
});
export type PodSandboxStatusResponse = Decoded<typeof PodSandboxStatusResponse>;

const PodSandboxStateValue = message("PodSandboxStateValue", { state: enumeration(1, { PodSandboxState }) });

/** A sandbox must match all set fields. */
export const PodSandboxFilter = message("PodSandboxFilter", {
  id: string(1),
  state: one(2, PodSandboxStateValue),
  labelSelector: stringMap(3),
});
export type PodSandboxFilter = Decoded<typeof PodSandboxFilter>;

export const ListPodSandboxRequest = message("ListPodSandboxRequest", { filter: one(1, PodSandboxFilter) });

export const PodSandbox = message("PodSandbox", {
  id: string(1),
  metadata: one(2, PodSandboxMetadata),
  state: enumeration(3, { PodSandboxState }),
  createdAt: int64(4),
  labels: stringMap(5),
  annotations: stringMap(6),
  runtimeHandler: string(7),
});
export type PodSandbox = Decoded<typeof PodSandbox>;

export const ListPodSandboxResponse = message("ListPodSandboxResponse", { items: many(1, PodSandbox) });

export const StreamPodSandboxesRequest = message("StreamPodSandboxesRequest", { filter: one(1, PodSandboxFilter) });

export const StreamPodSandboxesResponse = message("StreamPodSandboxesResponse", { podSandboxes: many(1, PodSandbox) });

export const UpdatePodSandboxResourcesRequest = message("UpdatePodSandboxResourcesRequest", {
  podSandboxId: string(1),
  overhead: one(2, LinuxContainerResources),
  resources: one(3, LinuxContainerResources),
});

export const UpdatePodSandboxResourcesResponse = message("UpdatePodSandboxResourcesResponse", {});
