/** The usage of a machine. Timestamps are nanoseconds; values are wrapped, so that 0 differs from unknown. */

import { double, int64, many, one, string, uint64 } from "../../apimachinery/protobuf/fields.js";
import { message } from "../../apimachinery/protobuf/message.js";
import { FilesystemIdentifier } from "./image.js";
import { UInt64Value } from "./values.js";

/** Pressure stall information: ns stalled, and percent of the last 10, 60 and 300 s. */
const PsiData = message("PsiData", {
  total: uint64(1, "Total"),
  avg10: double(2, "Avg10"),
  avg60: double(3, "Avg60"),
  avg300: double(4, "Avg300"),
});

const PsiStats = message("PsiStats", { full: one(1, PsiData, "Full"), some: one(2, PsiData, "Some") });

export const CpuUsage = message("CpuUsage", {
  timestamp: int64(1),
  /** summed since the start, over all cores */
  usageCoreNanoSeconds: one(2, UInt64Value),
  /** core nanoseconds per second */
  usageNanoCores: one(3, UInt64Value),
  psi: one(4, PsiStats),
});

export const MemoryUsage = message("MemoryUsage", {
  timestamp: int64(1),
  workingSetBytes: one(2, UInt64Value),
  availableBytes: one(3, UInt64Value),
  usageBytes: one(4, UInt64Value),
  rssBytes: one(5, UInt64Value),
  pageFaults: one(6, UInt64Value),
  majorPageFaults: one(7, UInt64Value),
  psi: one(8, PsiStats),
});

export const IoUsage = message("IoUsage", { timestamp: int64(1), psi: one(2, PsiStats) });

export const SwapUsage = message("SwapUsage", {
  timestamp: int64(1),
  swapAvailableBytes: one(2, UInt64Value),
  swapUsageBytes: one(3, UInt64Value),
});

const NetworkInterfaceUsage = message("NetworkInterfaceUsage", {
  name: string(1),
  rxBytes: one(2, UInt64Value),
  rxErrors: one(3, UInt64Value),
  txBytes: one(4, UInt64Value),
  txErrors: one(5, UInt64Value),
});

/** interfaces: all but the default one. */
export const NetworkUsage = message("NetworkUsage", {
  timestamp: int64(1),
  defaultInterface: one(2, NetworkInterfaceUsage),
  interfaces: many(3, NetworkInterfaceUsage),
});

export const ProcessUsage = message("ProcessUsage", { timestamp: int64(1), processCount: one(2, UInt64Value) });

export const WindowsCpuUsage = message("WindowsCpuUsage", {
  timestamp: int64(1),
  usageCoreNanoSeconds: one(2, UInt64Value),
  usageNanoCores: one(3, UInt64Value),
});

export const WindowsMemoryUsage = message("WindowsMemoryUsage", {
  timestamp: int64(1),
  workingSetBytes: one(2, UInt64Value),
  availableBytes: one(3, UInt64Value),
  pageFaults: one(4, UInt64Value),
  commitMemoryBytes: one(5, UInt64Value),
});

const WindowsNetworkInterfaceUsage = message("WindowsNetworkInterfaceUsage", {
  name: string(1),
  rxBytes: one(2, UInt64Value),
  rxPacketsDropped: one(3, UInt64Value),
  txBytes: one(4, UInt64Value),
  txPacketsDropped: one(5, UInt64Value),
});

export const WindowsNetworkUsage = message("WindowsNetworkUsage", {
  timestamp: int64(1),
  defaultInterface: one(2, WindowsNetworkInterfaceUsage),
  interfaces: many(3, WindowsNetworkInterfaceUsage),
});

export const WindowsProcessUsage = message("WindowsProcessUsage", {
  timestamp: int64(1),
  processCount: one(2, UInt64Value),
});

export const WindowsFilesystemUsage = message("WindowsFilesystemUsage", {
  timestamp: int64(1),
  fsId: one(2, FilesystemIdentifier),
  usedBytes: one(3, UInt64Value),
});
