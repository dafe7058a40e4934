import { FAMILIES, SERVING_CERTIFICATE_FAMILIES } from "./families.js";
import { MetricRegistry } from "./metric-registry.js";

export interface KubeletMetricsOptions {
  readonly nodeName: string;
  /** Unix ms at which the kubelet began; upstream is a process of its own */
  readonly startMs: number;
  /** the kubelet requests the certificate of its server from the cluster: `serverTLSBootstrap` */
  readonly requestsServingCertificate?: boolean;
  /** undefined: no such metric. `platform`: `linux/amd64` */
  readonly build?: { readonly kubeVersion: string; readonly platform: string };
}

/**
 * The kubelet's counters and timers, for /metrics.
 *
 * Mirrors Register in pkg/kubelet/metrics/metrics.go, and RegisterBuildInfo in
 * k8s.io/component-base/metrics/version.go: the build info has no fields of Go and git.
 */
export class KubeletMetrics extends MetricRegistry<typeof FAMILIES> {
  constructor({ nodeName, startMs, requestsServingCertificate = false, build }: KubeletMetricsOptions) {
    super(requestsServingCertificate ? FAMILIES : withoutServingCertificate());
    this.set("kubelet_node_name", 1, { node: nodeName });
    if (build !== undefined) {
      const [major = "", minor = ""] = build.kubeVersion.split(".");
      const labels = { git_version: `v${build.kubeVersion}.0`, major, minor, platform: build.platform };
      this.set("kubernetes_build_info", 1, labels);
    }
    this.set("process_start_time_seconds", startMs / 1000);
  }
}

/** Families that are not registered cannot be counted either. */
function withoutServingCertificate(): typeof FAMILIES {
  const left: readonly string[] = SERVING_CERTIFICATE_FAMILIES;
  return Object.fromEntries(Object.entries(FAMILIES).filter(([name]) => !left.includes(name))) as typeof FAMILIES;
}
