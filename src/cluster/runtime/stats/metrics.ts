import type { Init } from "../../../staging/apimachinery/protobuf/fields.js";
import { MetricType } from "../../../staging/cri/messages/enums.js";
import type { Metric, MetricDescriptor, PodSandboxMetrics } from "../../../staging/cri/messages/stats.js";
import type { Container, Sandbox } from "../state/container.js";
import type { RuntimeCore } from "../state/core.js";
import { containerStats } from "./usage.js";

type MetricInit = Init<typeof Metric>;
type StatsInit = ReturnType<typeof containerStats>;

/**
 * cAdvisor's names, which the kubelet exports under /metrics/cadvisor. The labels container, pod and namespace come
 * from the kubelet.
 */
const ROWS: readonly {
  readonly descriptor: Init<typeof MetricDescriptor>;
  readonly type: number;
  readonly read: (stats: StatsInit) => bigint | undefined;
}[] = [
  row("container_cpu_usage_seconds_total", "Cumulative cpu time consumed in seconds.", "COUNTER", (stats) => {
    const ns = field(stats.cpu, "usageCoreNanoSeconds");
    return ns === undefined ? undefined : ns / 1_000_000_000n;
  }),
  row("container_memory_working_set_bytes", "Current working set in bytes.", "GAUGE", (stats) =>
    field(stats.memory, "workingSetBytes"),
  ),
  row("container_fs_usage_bytes", "Bytes that the container has written.", "GAUGE", (stats) =>
    field(stats.writableLayer, "usedBytes"),
  ),
];

function row(
  name: string,
  help: string,
  type: keyof typeof MetricType,
  read: (stats: StatsInit) => bigint | undefined,
) {
  return { descriptor: { name, help, labelKeys: ["id", "name", "image"] }, type: MetricType[type], read };
}

function field(message: unknown, name: string): bigint | undefined {
  const value = (message as Readonly<Record<string, { readonly value?: bigint } | undefined>> | undefined)?.[name];
  return value?.value;
}

/** The metrics of each container: names, help texts and labels (ListMetricDescriptors). */
export function metricDescriptors(): readonly Init<typeof MetricDescriptor>[] {
  return ROWS.map(({ descriptor }) => descriptor);
}

/** The metrics of a sandbox's running containers (ListPodSandboxMetrics). */
export function sandboxMetrics(sandbox: Sandbox, core: RuntimeCore): Init<typeof PodSandboxMetrics> {
  return {
    podSandboxId: sandbox.sandboxId,
    metrics: [],
    containerMetrics: [...sandbox.containers]
      .filter(({ isRunning }) => isRunning)
      .map((container) => ({ containerId: container.containerId, metrics: metricsOf(container, core) })),
  };
}

function metricsOf(container: Container, core: RuntimeCore): MetricInit[] {
  const stats = containerStats(container, core);
  const labelValues = [container.containerId, container.metadata.name, container.config.image?.image ?? ""];
  return ROWS.flatMap(({ descriptor, type, read }) => {
    const value = read(stats);
    if (value === undefined) return [];
    return [
      { name: descriptor.name ?? "", timestamp: core.time.now(), metricType: type, labelValues, value: { value } },
    ];
  });
}
