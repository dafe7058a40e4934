/** The usage of a node or a container at one moment. Mirrors pkg/storage/types.go of metrics-server (MetricsPoint). */
export interface MetricsPoint {
  /** Unix ms; 0: unknown */
  readonly startTimeMs: number;
  /** Unix ms; 0: unknown */
  readonly timestampMs: number;
  /** core nanoseconds since the start */
  readonly cumulativeCpuUsed: number;
  /** the working set */
  readonly memoryBytes: number;
}

/** What one kubelet, or all of them, measured. Mirrors MetricsBatch. */
export interface MetricsBatch {
  /** by name */
  readonly nodes: ReadonlyMap<string, MetricsPoint>;
  /** by `namespace/name`, and then by container */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, MetricsPoint>>;
}

type Growing = { -readonly [K in keyof MetricsPoint]: MetricsPoint[K] };

/** A sample in Prometheus' text format: name, labels, value, time. Other lines are comments. */
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+(-?\d+))?$/;

/**
 * Reads the body of a kubelet's /metrics/resource.
 *
 * Mirrors pkg/scraper/client/resource/decode.go of metrics-server (decodeBatch): a node or a pod of which a figure is
 * missing, or 0, is left out.
 * @param nowMs the time of samples without one
 * @throws Error for a line that is no sample
 */
export function decodeBatch(text: string, nowMs: number, nodeName: string): MetricsBatch {
  const node = empty();
  const pods = new Map<string, Map<string, Growing>>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, name = "", labels = "", amount = "", time] = SAMPLE.exec(line) ?? [];
    const value = Number(amount);
    if (name === "" || amount === "" || Number.isNaN(value)) throw new Error(`failed parsing metrics: "${line}"`);
    const [scope, figure] = FIGURES[name] ?? [];
    if (figure === undefined) continue;
    const point = scope === "node" ? node : containerOf(pods, labels);
    figure(point, value);
    if (name !== START_TIME) point.timestampMs = time === undefined ? nowMs : Number(time);
  }
  const complete = [...pods].filter(([, containers]) => [...containers.values()].every(isComplete));
  return { nodes: new Map(isComplete(node) ? [[nodeName, node]] : []), pods: new Map(complete) };
}

const START_TIME = "container_start_time_seconds";

const cpu = (point: Growing, seconds: number) => {
  point.cumulativeCpuUsed = Math.trunc(seconds * 1e9);
};
const memory = (point: Growing, bytes: number) => {
  point.memoryBytes = Math.trunc(bytes);
};

const FIGURES: Readonly<Record<string, readonly ["node" | "container", (point: Growing, value: number) => void]>> = {
  node_cpu_usage_seconds_total: ["node", cpu],
  node_memory_working_set_bytes: ["node", memory],
  container_cpu_usage_seconds_total: ["container", cpu],
  container_memory_working_set_bytes: ["container", memory],
  [START_TIME]: [
    "container",
    (point, seconds) => {
      point.startTimeMs = seconds * 1000;
    },
  ],
};

function empty(): Growing {
  return { startTimeMs: 0, timestampMs: 0, cumulativeCpuUsed: 0, memoryBytes: 0 };
}

function isComplete({ timestampMs, cumulativeCpuUsed, memoryBytes }: MetricsPoint): boolean {
  return timestampMs !== 0 && cumulativeCpuUsed !== 0 && memoryBytes !== 0;
}

function containerOf(pods: Map<string, Map<string, Growing>>, labels: string): Growing {
  const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
  const key = podKey(label("namespace"), label("pod"));
  const containers = pods.get(key) ?? new Map<string, Growing>();
  pods.set(key, containers);
  const container = label("container");
  const point = containers.get(container) ?? empty();
  containers.set(container, point);
  return point;
}

/** `namespace/name` */
export function podKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
