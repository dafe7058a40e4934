import type { Counter, Gauge, Histogram, Registry } from "prom-client";
import { FAMILIES, type Family, type MetricName, type NameOf } from "./families.js";

/** Names in the order of FAMILIES: Prometheus sorts them. */
type Labels = Readonly<Record<string, string>>;
type Metric = Counter | Gauge | Histogram;

interface Loaded {
  readonly registry: Registry;
  readonly metrics: ReadonlyMap<MetricName, Metric>;
}

/** A measurement that waits for the library. */
type Waiting = (loaded: Loaded) => void;

/** With so many measurements at hand the library is loaded without a reader, so that they do not pile up. */
const MAX_WAITING = 1000;

/**
 * What a kubelet has counted, in a registry of its own: several kubelets may run in a process.
 *
 * The library is loaded for the first reader, not when the kubelet starts; until then measurements wait in order.
 * Mirrors Register in pkg/kubelet/metrics/metrics.go.
 */
export class KubeletMetrics {
  #waiting: Waiting[] = [];
  #loaded: Loaded | undefined;
  #loading: Promise<Loaded> | undefined;

  /** @param startMs Unix ms at which the kubelet began; upstream is a process of its own */
  constructor({ nodeName, startMs }: { readonly nodeName: string; readonly startMs: number }) {
    this.set("kubelet_node_name", 1, { node: nodeName });
    this.set("process_start_time_seconds", startMs / 1000);
  }

  /** Adds to a counter, or changes a gauge. */
  add(name: NameOf<"counter" | "gauge">, labels: Labels = {}, change = 1): void {
    this.#record((loaded) => (loaded.metrics.get(name) as Counter | Gauge).inc(labels, change));
  }

  set(name: NameOf<"gauge">, value: number, labels: Labels = {}): void {
    this.#record((loaded) => (loaded.metrics.get(name) as Gauge).set(labels, value));
  }

  /** Adds a duration to a histogram of seconds. */
  observe(name: NameOf<"histogram">, durationMs: number, labels: Labels = {}): void {
    this.#record((loaded) => (loaded.metrics.get(name) as Histogram).observe(labels, durationMs / 1000));
  }

  /** Prometheus' text format: the families by name; those without a series are left out, as by client_golang. */
  async text(): Promise<string> {
    const { registry, metrics } = await this.#load();
    const parts: string[] = [];
    for (const [name, metric] of metrics) {
      const { values } = await metric.get();
      if (values.length > 0) parts.push(`${await registry.getSingleMetricAsString(name)}\n`);
    }
    return parts.join("");
  }

  #record(measurement: Waiting): void {
    if (this.#loaded !== undefined) measurement(this.#loaded);
    else if (this.#waiting.push(measurement) === MAX_WAITING) void this.#load();
  }

  #load(): Promise<Loaded> {
    this.#loading ??= this.#register();
    return this.#loading;
  }

  async #register(): Promise<Loaded> {
    // A bundle has only the default export of a CommonJS module.
    const { Registry, Counter, Gauge, Histogram } = (await import("prom-client")).default;
    const registry = new Registry();
    const metrics = new Map<MetricName, Metric>();
    for (const [name, family] of Object.entries<Family>(FAMILIES)) {
      const labelNames = [...(family.labels ?? [])];
      const common = { name, help: `[ALPHA] ${family.help}`, labelNames, registers: [registry] };
      if (family.type === "histogram") {
        metrics.set(name as MetricName, new Histogram({ ...common, buckets: [...family.buckets] }));
      } else metrics.set(name as MetricName, family.type === "counter" ? new Counter(common) : new Gauge(common));
    }
    this.#loaded = { registry, metrics };
    for (const measurement of this.#waiting) measurement(this.#loaded);
    this.#waiting = [];
    return this.#loaded;
  }
}
