import type { ContainerStats, PodStats, Summary } from "../../apis/stats/v1alpha1.js";
import { type FamilyHead, familyText, type Sample } from "../text-format.js";

interface Family extends FamilyHead {
  samples(summary: Summary): readonly Sample[];
}

const NANOS = 1e9;

/** Mirrors the Descs of resource_metrics.go, sorted by name as Prometheus' registry returns them. */
const FAMILIES: readonly Family[] = [
  {
    name: "container_cpu_usage_seconds_total",
    help: "Cumulative cpu time consumed by the container in core-seconds",
    type: "counter",
    samples: ofContainers(({ cpu }) => seconds(cpu?.usageCoreNanoSeconds, cpu?.timeMs)),
  },
  {
    name: "container_memory_working_set_bytes",
    help: "Current working set of the container in bytes",
    type: "gauge",
    samples: ofContainers(({ memory }) => figure(memory?.workingSetBytes, memory?.timeMs)),
  },
  {
    name: "container_start_time_seconds",
    help: "Start time of the container since unix epoch in seconds",
    type: "gauge",
    samples: ofContainers(({ startTimeMs }) => figure(startTimeMs / 1000, startTimeMs)),
  },
  {
    name: "node_cpu_usage_seconds_total",
    help: "Cumulative cpu time consumed by the node in core-seconds",
    type: "counter",
    samples: ({ node: { cpu } }) => labelled({}, seconds(cpu?.usageCoreNanoSeconds, cpu?.timeMs)),
  },
  {
    name: "node_memory_working_set_bytes",
    help: "Current working set of the node in bytes",
    type: "gauge",
    samples: ({ node: { memory } }) => labelled({}, figure(memory?.workingSetBytes, memory?.timeMs)),
  },
  {
    name: "pod_cpu_usage_seconds_total",
    help: "Cumulative cpu time consumed by the pod in core-seconds",
    type: "counter",
    samples: ofPods(({ cpu }) => seconds(cpu?.usageCoreNanoSeconds, cpu?.timeMs)),
  },
  {
    name: "pod_memory_working_set_bytes",
    help: "Current working set of the pod in bytes",
    type: "gauge",
    samples: ofPods(({ memory }) => figure(memory?.workingSetBytes, memory?.timeMs)),
  },
];

const SCRAPE_ERROR = {
  name: "scrape_error",
  help: "1 if there was an error while getting container metrics, 0 otherwise",
  type: "gauge",
} as const;

/**
 * The body of /metrics/resource.
 *
 * Mirrors pkg/kubelet/metrics/collectors/resource_metrics.go. Families have a stability level of ALPHA, as until 1.28.
 * @param summary undefined: unavailable
 */
export function resourceMetrics(summary: Summary | undefined): string {
  const families = summary === undefined ? [] : FAMILIES.map((one) => familyText(one, one.samples(summary)));
  const scrapeError = familyText(SCRAPE_ERROR, [{ labels: {}, value: summary === undefined ? 1 : 0 }]);
  return [...families, scrapeError].join("");
}

type Reading = Pick<Sample, "value" | "timeMs"> | undefined;

function ofContainers(read: (container: ContainerStats) => Reading): Family["samples"] {
  return ({ pods }) =>
    pods.flatMap(({ podRef: { name: pod, namespace }, containers }) =>
      containers.flatMap((one) => labelled({ container: one.name, namespace, pod }, read(one))),
    );
}

function ofPods(read: (pod: PodStats) => Reading): Family["samples"] {
  return ({ pods }) =>
    pods.flatMap((one) => labelled({ namespace: one.podRef.namespace, pod: one.podRef.name }, read(one)));
}

function labelled(labels: Sample["labels"], reading: Reading): Sample[] {
  return reading === undefined ? [] : [{ labels, ...reading }];
}

function seconds(nanoSeconds: number | undefined, timeMs: number | undefined): Reading {
  return nanoSeconds === undefined ? undefined : figure(nanoSeconds / NANOS, timeMs);
}

function figure(value: number | undefined, timeMs: number | undefined): Reading {
  if (value === undefined) return undefined;
  return timeMs === undefined ? { value } : { value, timeMs };
}
