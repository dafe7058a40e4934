import { KubeletMetrics } from "../../src/kubelet/metrics/kubelet-metrics.js";
import { parseMetrics } from "./prometheus.js";

/** A kubelet's metrics for a test of one of its parts. */
export class CountedMetrics extends KubeletMetrics {
  constructor() {
    super({ nodeName: "n1", startMs: 0, requestsServingCertificate: true });
  }

  /** The series of a family as `label=value,… number`, by the labels in their order; a histogram's sum and count. */
  async series(name: string): Promise<string[]> {
    const samples = parseMetrics(await this.text()).get(name)?.samples ?? [];
    return samples
      .filter((one) => !one.name.endsWith("_bucket"))
      .map((one) => {
        const labels = Object.entries(one.labels).map(([key, value]) => `${key}=${value}`);
        const suffix = one.name.slice(name.length + 1);
        return [...labels, ...(suffix === "" ? [] : [suffix]), one.value].join(" ");
      })
      .sort();
  }
}
