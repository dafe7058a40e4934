import type { ContainerStats, PodStats, Summary } from "../../stats/summary.js";

/** A measured value with its labels, in upstream's order of families. */
interface Sample {
  /** in the order in which Prometheus sorts them: by name */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Unix ms; undefined: the moment of the request */
  readonly timeMs?: number;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
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
};

/**
 * The body of /metrics/resource.
 *
 * Mirrors pkg/kubelet/metrics/collectors/resource_metrics.go. Families have a stability level of ALPHA, as until 1.28.
 * @param summary undefined: it cannot be had
 */
export function resourceMetrics(summary: Summary | undefined): string {
  const parts: string[] = [];
  for (const { name, help, type, samples } of summary === undefined ? [] : FAMILIES) {
    const lines = samples(summary as Summary).map((sample) => line(name, sample));
    if (lines.length > 0) parts.push(head(name, help, type), ...lines.sort());
  }
  parts.push(head(SCRAPE_ERROR.name, SCRAPE_ERROR.help, "gauge"));
  parts.push(`scrape_error ${summary === undefined ? 1 : 0}\n`);
  return parts.join("");
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

function head(name: string, help: string, type: string): string {
  return `# HELP ${name} [ALPHA] ${help}\n# TYPE ${name} ${type}\n`;
}

function line(name: string, { labels, value, timeMs }: Sample): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
  const time = timeMs === undefined ? "" : ` ${Math.trunc(timeMs)}`;
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${goFloat(value)}${time}\n`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

/** Mirrors strconv.FormatFloat(value, 'g', -1, 64). */
function goFloat(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}
