import { FAMILIES, SERVING_CERTIFICATE_FAMILIES } from "./families.js";
import { MetricRegistry } from "./metric-registry.js";

export interface KubeletMetricsOptions {
  readonly nodeName: string;
  /** Unix ms at which the kubelet began; upstream is a process of its own */
  readonly startMs: number;
  /** the kubelet requests the certificate of its server from the cluster: `serverTLSBootstrap` */
  readonly requestsServingCertificate?: boolean;
}

/** What a kubelet has counted, for /metrics. Mirrors Register in pkg/kubelet/metrics/metrics.go. */
export class KubeletMetrics extends MetricRegistry<typeof FAMILIES> {
  constructor({ nodeName, startMs, requestsServingCertificate = false }: KubeletMetricsOptions) {
    super(requestsServingCertificate ? FAMILIES : withoutServingCertificate());
    this.set("kubelet_node_name", 1, { node: nodeName });
    this.set("process_start_time_seconds", startMs / 1000);
  }
}

/** Families that are not registered cannot be counted either. */
function withoutServingCertificate(): typeof FAMILIES {
  const left: readonly string[] = SERVING_CERTIFICATE_FAMILIES;
  return Object.fromEntries(Object.entries(FAMILIES).filter(([name]) => !left.includes(name))) as typeof FAMILIES;
}
