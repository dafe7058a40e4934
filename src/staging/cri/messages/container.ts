/** Containers: their configuration and their status. Times are nanoseconds since 1970; 0: not yet. */

import {
  bool,
  type Decoded,
  enumeration,
  int32,
  int64,
  many,
  one,
  string,
  stringMap,
  strings,
  uint32,
} from "../../apimachinery/protobuf/fields.js";
import { message } from "../../apimachinery/protobuf/message.js";
import { ContainerState, Signal } from "./enums.js";
import { ContainerResources, LinuxContainerResources, WindowsContainerResources } from "./resources.js";
import { ContainerUser, LinuxContainerSecurityContext, WindowsContainerSecurityContext } from "./security.js";
import { CDIDevice, Device, ImageSpec, KeyValue, Mount } from "./values.js";

const LinuxContainerConfig = message("LinuxContainerConfig", {
  resources: one(1, LinuxContainerResources),
  securityContext: one(2, LinuxContainerSecurityContext),
});

const WindowsContainerConfig = message("WindowsContainerConfig", {
  resources: one(1, WindowsContainerResources),
  securityContext: one(2, WindowsContainerSecurityContext),
});

/** Unique within a sandbox. */
export const ContainerMetadata = message("ContainerMetadata", { name: string(1), attempt: uint32(2) });
export type ContainerMetadata = Decoded<typeof ContainerMetadata>;

export const ContainerConfig = message("ContainerConfig", {
  metadata: one(1, ContainerMetadata),
  image: one(2, ImageSpec),
  /** in place of the image's entrypoint */
  command: strings(3),
  args: strings(4),
  workingDir: string(5),
  envs: many(6, KeyValue),
  mounts: many(7, Mount),
  devices: many(8, Device),
  labels: stringMap(9),
  annotations: stringMap(10),
  /** below the sandbox's logDirectory */
  logPath: string(11),
  stdin: bool(12),
  stdinOnce: bool(13),
  tty: bool(14),
  linux: one(15, LinuxContainerConfig),
  windows: one(16, WindowsContainerConfig),
  cdiDevices: many(17, CDIDevice, "CDI_devices"),
  stopSignal: enumeration(18, { Signal }),
});
export type ContainerConfig = Decoded<typeof ContainerConfig>;

const ContainerStateValue = message("ContainerStateValue", { state: enumeration(1, { ContainerState }) });

/** A container must match all set fields. */
export const ContainerFilter = message("ContainerFilter", {
  id: string(1),
  state: one(2, ContainerStateValue),
  podSandboxId: string(3),
  labelSelector: stringMap(4),
});
export type ContainerFilter = Decoded<typeof ContainerFilter>;

export const Container = message("Container", {
  id: string(1),
  podSandboxId: string(2),
  metadata: one(3, ContainerMetadata),
  image: one(4, ImageSpec),
  imageRef: string(5),
  state: enumeration(6, { ContainerState }),
  createdAt: int64(7),
  labels: stringMap(8),
  annotations: stringMap(9),
  imageId: string(10),
});
export type Container = Decoded<typeof Container>;

/** reason is `OOMKilled` if the kernel killed the container for its memory. */
export const ContainerStatus = message("ContainerStatus", {
  id: string(1),
  metadata: one(2, ContainerMetadata),
  state: enumeration(3, { ContainerState }),
  createdAt: int64(4),
  startedAt: int64(5),
  finishedAt: int64(6),
  exitCode: int32(7),
  image: one(8, ImageSpec),
  imageRef: string(9),
  reason: string(10),
  message: string(11),
  labels: stringMap(12),
  annotations: stringMap(13),
  mounts: many(14, Mount),
  logPath: string(15),
  resources: one(16, ContainerResources),
  imageId: string(17),
  user: one(18, ContainerUser),
  stopSignal: enumeration(19, { Signal }),
});
export type ContainerStatus = Decoded<typeof ContainerStatus>;
