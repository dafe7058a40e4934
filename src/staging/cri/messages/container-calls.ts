/** Requests and responses of the calls on containers. */

import {
  bool,
  bytes,
  type Decoded,
  enumeration,
  int32,
  int32s,
  int64,
  many,
  one,
  string,
  stringMap,
  strings,
} from "../../apimachinery/protobuf/fields.js";
import { message } from "../../apimachinery/protobuf/message.js";
import { Container, ContainerConfig, ContainerFilter, ContainerStatus } from "./container.js";
import { ContainerEventType } from "./enums.js";
import { LinuxContainerResources, WindowsContainerResources } from "./resources.js";
import { PodSandboxConfig, PodSandboxStatus } from "./sandbox.js";

/** sandboxConfig repeats the sandbox's configuration. */
export const CreateContainerRequest = message("CreateContainerRequest", {
  podSandboxId: string(1),
  config: one(2, ContainerConfig),
  sandboxConfig: one(3, PodSandboxConfig),
});

export const CreateContainerResponse = message("CreateContainerResponse", { containerId: string(1) });

export const StartContainerRequest = message("StartContainerRequest", { containerId: string(1) });

export const StartContainerResponse = message("StartContainerResponse", {});

/** timeout: seconds until the container is killed; 0: at once. */
export const StopContainerRequest = message("StopContainerRequest", { containerId: string(1), timeout: int64(2) });

export const StopContainerResponse = message("StopContainerResponse", {});

export const RemoveContainerRequest = message("RemoveContainerRequest", { containerId: string(1) });

export const RemoveContainerResponse = message("RemoveContainerResponse", {});

export const ListContainersRequest = message("ListContainersRequest", { filter: one(1, ContainerFilter) });

export const ListContainersResponse = message("ListContainersResponse", { containers: many(1, Container) });

export const StreamContainersRequest = message("StreamContainersRequest", { filter: one(1, ContainerFilter) });

export const StreamContainersResponse = message("StreamContainersResponse", { containers: many(1, Container) });

export const ContainerStatusRequest = message("ContainerStatusRequest", { containerId: string(1), verbose: bool(2) });

export const ContainerStatusResponse = message("ContainerStatusResponse", {
  status: one(1, ContainerStatus),
  /** JSON texts by name, for a verbose request */
  info: stringMap(2),
});
export type ContainerStatusResponse = Decoded<typeof ContainerStatusResponse>;

export const UpdateContainerResourcesRequest = message("UpdateContainerResourcesRequest", {
  containerId: string(1),
  linux: one(2, LinuxContainerResources),
  windows: one(3, WindowsContainerResources),
  annotations: stringMap(4),
});

export const UpdateContainerResourcesResponse = message("UpdateContainerResourcesResponse", {});

/** timeout: seconds; 0: none. */
export const ExecSyncRequest = message("ExecSyncRequest", {
  containerId: string(1),
  cmd: strings(2),
  timeout: int64(3),
});
export type ExecSyncRequest = Decoded<typeof ExecSyncRequest>;

/** Runtimes cut each stream off at 16 MB. */
export const ExecSyncResponse = message("ExecSyncResponse", { stdout: bytes(1), stderr: bytes(2), exitCode: int32(3) });
export type ExecSyncResponse = Decoded<typeof ExecSyncResponse>;

/** At least one of stdin, stdout and stderr is set; with tty, stderr is not. */
export const ExecRequest = message("ExecRequest", {
  containerId: string(1),
  cmd: strings(2),
  tty: bool(3),
  stdin: bool(4),
  stdout: bool(5),
  stderr: bool(6),
  auditRequestId: string(7),
});
export type ExecRequest = Decoded<typeof ExecRequest>;

export const ExecResponse = message("ExecResponse", { url: string(1) });

/** As ExecRequest; tty must be the container's. */
export const AttachRequest = message("AttachRequest", {
  containerId: string(1),
  stdin: bool(2),
  tty: bool(3),
  stdout: bool(4),
  stderr: bool(5),
  auditRequestId: string(6),
});
export type AttachRequest = Decoded<typeof AttachRequest>;

export const AttachResponse = message("AttachResponse", { url: string(1) });

export const PortForwardRequest = message("PortForwardRequest", { podSandboxId: string(1), port: int32s(2) });
export type PortForwardRequest = Decoded<typeof PortForwardRequest>;

export const PortForwardResponse = message("PortForwardResponse", { url: string(1) });

export const ReopenContainerLogRequest = message("ReopenContainerLogRequest", { containerId: string(1) });

export const ReopenContainerLogResponse = message("ReopenContainerLogResponse", {});

/** timeout: seconds; 0: the runtime's default. */
export const CheckpointContainerRequest = message("CheckpointContainerRequest", {
  containerId: string(1),
  /** the archive to write */
  location: string(2),
  timeout: int64(3),
});

export const CheckpointContainerResponse = message("CheckpointContainerResponse", {});

export const GetEventsRequest = message("GetEventsRequest", {});

/** createdAt: the time of the event, in nanoseconds. */
export const ContainerEventResponse = message("ContainerEventResponse", {
  containerId: string(1),
  containerEventType: enumeration(2, { ContainerEventType }),
  createdAt: int64(3),
  podSandboxStatus: one(4, PodSandboxStatus),
  containersStatuses: many(5, ContainerStatus),
});
export type ContainerEventResponse = Decoded<typeof ContainerEventResponse>;
