/** Statistics of containers and sandboxes, and the runtime's own metrics of them. */

import {
  type Decoded,
  enumeration,
  int64,
  many,
  one,
  string,
  stringMap,
  strings,
} from "../../apimachinery/protobuf/fields.js";
import { message } from "../../apimachinery/protobuf/message.js";
import { ContainerMetadata } from "./container.js";
import { MetricType } from "./enums.js";
import { FilesystemUsage } from "./image.js";
import { PodSandboxMetadata } from "./sandbox.js";
import {
  CpuUsage,
  IoUsage,
  MemoryUsage,
  NetworkUsage,
  ProcessUsage,
  SwapUsage,
  WindowsCpuUsage,
  WindowsFilesystemUsage,
  WindowsMemoryUsage,
  WindowsNetworkUsage,
  WindowsProcessUsage,
} from "./usage.js";
import { UInt64Value } from "./values.js";

const ContainerAttributes = message("ContainerAttributes", {
  id: string(1),
  metadata: one(2, ContainerMetadata),
  labels: stringMap(3),
  annotations: stringMap(4),
});

export const ContainerStats = message("ContainerStats", {
  attributes: one(1, ContainerAttributes),
  cpu: one(2, CpuUsage),
  memory: one(3, MemoryUsage),
  writableLayer: one(4, FilesystemUsage),
  swap: one(5, SwapUsage),
  io: one(6, IoUsage),
});
export type ContainerStats = Decoded<typeof ContainerStats>;

const WindowsContainerStats = message("WindowsContainerStats", {
  attributes: one(1, ContainerAttributes),
  cpu: one(2, WindowsCpuUsage),
  memory: one(3, WindowsMemoryUsage),
  writableLayer: one(4, WindowsFilesystemUsage),
});

export const ContainerStatsFilter = message("ContainerStatsFilter", {
  id: string(1),
  podSandboxId: string(2),
  labelSelector: stringMap(3),
});
export type ContainerStatsFilter = Decoded<typeof ContainerStatsFilter>;

export const ContainerStatsRequest = message("ContainerStatsRequest", { containerId: string(1) });

export const ContainerStatsResponse = message("ContainerStatsResponse", { stats: one(1, ContainerStats) });

export const ListContainerStatsRequest = message("ListContainerStatsRequest", { filter: one(1, ContainerStatsFilter) });

export const ListContainerStatsResponse = message("ListContainerStatsResponse", { stats: many(1, ContainerStats) });

export const StreamContainerStatsRequest = message("StreamContainerStatsRequest", {
  filter: one(1, ContainerStatsFilter),
});

export const StreamContainerStatsResponse = message("StreamContainerStatsResponse", {
  containerStats: many(1, ContainerStats),
});

const PodSandboxAttributes = message("PodSandboxAttributes", {
  id: string(1),
  metadata: one(2, PodSandboxMetadata),
  labels: stringMap(3),
  annotations: stringMap(4),
});

const LinuxPodSandboxStats = message("LinuxPodSandboxStats", {
  cpu: one(1, CpuUsage),
  memory: one(2, MemoryUsage),
  network: one(3, NetworkUsage),
  process: one(4, ProcessUsage),
  containers: many(5, ContainerStats),
  io: one(6, IoUsage),
});

const WindowsPodSandboxStats = message("WindowsPodSandboxStats", {
  cpu: one(1, WindowsCpuUsage),
  memory: one(2, WindowsMemoryUsage),
  network: one(3, WindowsNetworkUsage),
  process: one(4, WindowsProcessUsage),
  containers: many(5, WindowsContainerStats),
});

export const PodSandboxStats = message("PodSandboxStats", {
  attributes: one(1, PodSandboxAttributes),
  linux: one(2, LinuxPodSandboxStats),
  windows: one(3, WindowsPodSandboxStats),
});
export type PodSandboxStats = Decoded<typeof PodSandboxStats>;

export const PodSandboxStatsFilter = message("PodSandboxStatsFilter", { id: string(1), labelSelector: stringMap(2) });
export type PodSandboxStatsFilter = Decoded<typeof PodSandboxStatsFilter>;

export const PodSandboxStatsRequest = message("PodSandboxStatsRequest", { podSandboxId: string(1) });

export const PodSandboxStatsResponse = message("PodSandboxStatsResponse", { stats: one(1, PodSandboxStats) });

export const ListPodSandboxStatsRequest = message("ListPodSandboxStatsRequest", {
  filter: one(1, PodSandboxStatsFilter),
});

export const ListPodSandboxStatsResponse = message("ListPodSandboxStatsResponse", { stats: many(1, PodSandboxStats) });

export const StreamPodSandboxStatsRequest = message("StreamPodSandboxStatsRequest", {
  filter: one(1, PodSandboxStatsFilter),
});

export const StreamPodSandboxStatsResponse = message("StreamPodSandboxStatsResponse", {
  podSandboxStats: many(1, PodSandboxStats),
});

export const MetricDescriptor = message("MetricDescriptor", {
  name: string(1),
  help: string(2),
  labelKeys: strings(3),
});
export type MetricDescriptor = Decoded<typeof MetricDescriptor>;

/** labelValues are in the order of the descriptor's labelKeys. */
export const Metric = message("Metric", {
  name: string(1),
  /** nanoseconds; 0: measured now */
  timestamp: int64(2),
  metricType: enumeration(3, { MetricType }),
  labelValues: strings(4),
  value: one(5, UInt64Value),
});

const ContainerMetrics = message("ContainerMetrics", { containerId: string(1), metrics: many(2, Metric) });

export const PodSandboxMetrics = message("PodSandboxMetrics", {
  podSandboxId: string(1),
  metrics: many(2, Metric),
  containerMetrics: many(3, ContainerMetrics),
});
export type PodSandboxMetrics = Decoded<typeof PodSandboxMetrics>;

export const ListMetricDescriptorsRequest = message("ListMetricDescriptorsRequest", {});

export const ListMetricDescriptorsResponse = message("ListMetricDescriptorsResponse", {
  descriptors: many(1, MetricDescriptor),
});

export const ListPodSandboxMetricsRequest = message("ListPodSandboxMetricsRequest", {});

export const ListPodSandboxMetricsResponse = message("ListPodSandboxMetricsResponse", {
  podMetrics: many(1, PodSandboxMetrics),
});

export const StreamPodSandboxMetricsRequest = message("StreamPodSandboxMetricsRequest", {});

export const StreamPodSandboxMetricsResponse = message("StreamPodSandboxMetricsResponse", {
  podSandboxMetrics: many(1, PodSandboxMetrics),
});
