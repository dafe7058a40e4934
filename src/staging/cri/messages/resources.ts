/** Limits: 0 and the empty string mean no limit. */

import {
  type Decoded,
  int64,
  many,
  one,
  string,
  stringMap,
  uint32,
  uint64,
} from "../../apimachinery/protobuf/fields.js";
import { message } from "../../apimachinery/protobuf/message.js";

/** pageSize as in `2MB`, `1GB`; limit in bytes. */
const HugepageLimit = message("HugepageLimit", { pageSize: string(1), limit: uint64(2) });

export const LinuxContainerResources = message("LinuxContainerResources", {
  /** microseconds */
  cpuPeriod: int64(1),
  /** microseconds of each period */
  cpuQuota: int64(2),
  cpuShares: int64(3),
  memoryLimitInBytes: int64(4),
  oomScoreAdj: int64(5),
  cpusetCpus: string(6),
  cpusetMems: string(7),
  hugepageLimits: many(8, HugepageLimit),
  /** cgroup v2 files and what to write to them */
  unified: stringMap(9),
  memorySwapLimitInBytes: int64(10),
});
export type LinuxContainerResources = Decoded<typeof LinuxContainerResources>;

const WindowsCpuGroupAffinity = message("WindowsCpuGroupAffinity", { cpuMask: uint64(1), cpuGroup: uint32(2) });

/** cpuMaximum: a share of the processor in hundredths of a percent. */
export const WindowsContainerResources = message("WindowsContainerResources", {
  cpuShares: int64(1),
  cpuCount: int64(2),
  cpuMaximum: int64(3),
  memoryLimitInBytes: int64(4),
  rootfsSizeInBytes: int64(5),
  affinityCpus: many(6, WindowsCpuGroupAffinity),
});

export const ContainerResources = message("ContainerResources", {
  linux: one(1, LinuxContainerResources),
  windows: one(2, WindowsContainerResources),
});
