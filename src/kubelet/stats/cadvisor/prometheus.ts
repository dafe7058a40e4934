import type { V1NodeSystemInfo } from "@kubernetes/client-node";
import { defined } from "../../../util/defined.js";
import { compareText } from "../../../util/text/compare-text.js";
import type { InterfaceStats } from "../../apis/stats/v1alpha1.js";
import { type FamilyHead, familyText, type Sample } from "../../metrics/text-format.js";
import type { ContainerInfo, ContainerLabels } from "./container-info.js";

const NANOS = 1e9;

/** A sample of a cgroup: labels in addition to the cgroup's, a value and its time. */
type Reading = Pick<Sample, "value" | "timeMs"> & { readonly labels?: MoreLabels };
type MoreLabels = Readonly<Partial<Record<"cpu" | "device" | "failure_type" | "interface" | "scope", string>>>;

interface Family extends Omit<FamilyHead, "isRaw"> {
  readonly read: (info: ContainerInfo) => readonly (Reading | undefined)[];
}

const gauge = (name: string, help: string, read: Family["read"]): Family => ({ name, help, type: "gauge", read });
const counter = (name: string, help: string, read: Family["read"]): Family => ({ name, help, type: "counter", read });

/** The families of cAdvisor that CRI statistics have figures for, in the order of their names. */
const FAMILIES: readonly Family[] = [
  counter("container_cpu_usage_seconds_total", "Cumulative cpu time consumed in seconds.", ({ cpu }) => {
    const nanoSeconds = cpu?.usageCoreNanoSeconds;
    return [figure(nanoSeconds === undefined ? undefined : nanoSeconds / NANOS, cpu?.timeMs, { cpu: "total" })];
  }),
  gauge("container_fs_inodes_free", "Number of available Inodes", ({ fs }) => [onDisk(fs?.inodesFree, fs?.timeMs)]),
  gauge("container_fs_inodes_total", "Number of Inodes", ({ fs }) => [onDisk(fs?.inodes, fs?.timeMs)]),
  gauge(
    "container_fs_limit_bytes",
    "Number of bytes that can be consumed by the container on this filesystem.",
    ({ fs }) => [onDisk(fs?.capacityBytes, fs?.timeMs)],
  ),
  gauge(
    "container_fs_usage_bytes",
    "Number of bytes that are consumed by the container on this filesystem.",
    ({ fs }) => [onDisk(fs?.usedBytes, fs?.timeMs)],
  ),
  counter("container_memory_failures_total", "Cumulative count of memory allocation failures.", ({ memory }) => [
    figure(memory?.pageFaults, memory?.timeMs, { failure_type: "pgfault", scope: "container" }),
    figure(memory?.majorPageFaults, memory?.timeMs, { failure_type: "pgmajfault", scope: "container" }),
  ]),
  gauge("container_memory_rss", "Size of RSS in bytes.", ({ memory }) => [figure(memory?.rssBytes, memory?.timeMs)]),
  gauge(
    "container_memory_usage_bytes",
    "Current memory usage in bytes, including all memory regardless of when it was accessed",
    ({ memory }) => [figure(memory?.usageBytes, memory?.timeMs)],
  ),
  gauge("container_memory_working_set_bytes", "Current working set in bytes.", ({ memory }) => [
    figure(memory?.workingSetBytes, memory?.timeMs),
  ]),
  counter("container_network_receive_bytes_total", "Cumulative count of bytes received", ofInterfaces("rxBytes")),
  counter(
    "container_network_receive_errors_total",
    "Cumulative count of errors encountered while receiving",
    ofInterfaces("rxErrors"),
  ),
  counter("container_network_transmit_bytes_total", "Cumulative count of bytes transmitted", ofInterfaces("txBytes")),
  counter(
    "container_network_transmit_errors_total",
    "Cumulative count of errors encountered while transmitting",
    ofInterfaces("txErrors"),
  ),
  gauge("container_processes", "Number of processes running inside the container.", ({ processCount }) => [
    figure(processCount, undefined),
  ]),
  gauge("container_spec_cpu_period", "CPU period of the container.", ({ spec }) => [
    figure(spec?.cpuPeriodUs, undefined),
  ]),
  gauge("container_spec_cpu_quota", "CPU quota of the container.", ({ spec }) => [figure(spec?.cpuQuotaUs, undefined)]),
  gauge("container_spec_cpu_shares", "CPU share of the container.", ({ spec }) => [figure(spec?.cpuShares, undefined)]),
  gauge("container_spec_memory_limit_bytes", "Memory limit for the container.", ({ spec }) => [
    figure(spec?.memoryLimitBytes, undefined),
  ]),
  gauge(
    "container_start_time_seconds",
    "Start time of the container since unix epoch in seconds.",
    ({ startTimeMs }) => [figure(startTimeMs === undefined ? undefined : Math.floor(startTimeMs / 1000), undefined)],
  ),
];

/** The machine's figures and names. */
export interface MachineInfo
  extends Pick<V1NodeSystemInfo, "bootID" | "kernelVersion" | "machineID" | "osImage" | "systemUUID"> {
  readonly cores: number;
  readonly memoryBytes: number;
}

/**
 * The body of /metrics/cadvisor.
 *
 * Mirrors PrometheusCollector and PrometheusMachineCollector of cAdvisor (metrics/prometheus.go, prometheus_machine.go).
 * Differs: only what a container runtime reports. There is no cAdvisor, so its version is empty, as in most builds of a kubelet.
 * @param infos undefined: unavailable
 */
export function cadvisorMetrics(infos: readonly ContainerInfo[] | undefined, machine: MachineInfo): string {
  const { bootID, machineID, systemUUID, cores, memoryBytes, kernelVersion, osImage } = machine;
  const ids = { boot_id: bootID, machine_id: machineID, system_uuid: systemUUID };
  const version = { cadvisorRevision: "", cadvisorVersion: "", dockerVersion: "", kernelVersion, osVersion: osImage };
  const one = (name: string, help: string, value: number, labels = {}): readonly [string, string] => [
    name,
    familyText({ name, help, type: "gauge", isRaw: true }, [{ labels, value }]),
  ];
  const versionHelp =
    "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.";
  const scrapeHelp = "1 if there was an error while getting container metrics, 0 otherwise";
  const all = [
    one("cadvisor_version_info", versionHelp, 1, version),
    ...FAMILIES.map((family) => [family.name, ofContainers(family, infos ?? [])] as const),
    one("container_scrape_error", scrapeHelp, infos === undefined ? 1 : 0),
    one("machine_cpu_cores", "Number of logical CPU cores.", cores, ids),
    one("machine_memory_bytes", "Amount of memory installed on the machine.", memoryBytes, ids),
  ];
  return all
    .sort(([a], [b]) => compareText(a, b))
    .map(([, text]) => text)
    .join("");
}

function ofContainers({ read, ...head }: Family, infos: readonly ContainerInfo[]): string {
  const samples = infos.flatMap((info) =>
    read(info).flatMap((reading) => {
      if (reading === undefined) return [];
      const { labels: more = {}, ...rest } = reading;
      return [{ ...rest, labels: inOrder(info.labels, more) }];
    }),
  );
  return familyText({ ...head, isRaw: true }, samples);
}

/** By their names. */
function inOrder(
  { container, id, image, name, namespace, pod }: ContainerLabels,
  { cpu, device, failure_type, interface: of, scope }: MoreLabels,
): Readonly<Record<string, string>> {
  return defined({ container, cpu, device, failure_type, id, image, interface: of, name, namespace, pod, scope });
}

function figure(value: number | undefined, timeMs: number | undefined, labels: MoreLabels = {}): Reading | undefined {
  if (value === undefined) return undefined;
  return timeMs === undefined ? { value, labels } : { value, timeMs, labels };
}

/** The device of the runtime's file system is unknown. */
function onDisk(value: number | undefined, timeMs: number | undefined): Reading | undefined {
  return figure(value, timeMs, { device: "" });
}

function ofInterfaces(name: Exclude<keyof InterfaceStats, "name">): Family["read"] {
  return ({ network }) =>
    (network?.interfaces ?? []).map((one) => figure(one[name], network?.timeMs, { interface: one.name }));
}
