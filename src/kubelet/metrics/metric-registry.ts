import type { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Family } from "./families.js";

type Families = Readonly<Record<string, Family>>;
/** The names of the families of a type. */
type NameOf<F extends Families, T extends Family["type"]> = {
  [N in keyof F]: F[N]["type"] extends T ? N : never;
}[keyof F] &
  string;

/** The names in the family's order. */
export type Labels = Readonly<Record<string, string>>;
type Metric = Counter | Gauge | Histogram;

interface Loaded {
  readonly registry: Registry;
  readonly metrics: ReadonlyMap<string, Metric>;
}

/** A measurement that waits for the library. */
type Waiting = (loaded: Loaded) => void;

/** A line that is not a comment. */
const HAS_SERIES = /^[^#]/m;
/** The number of waiting measurements at which the library is loaded without a reader, so that they do not pile up. */
const MAX_WAITING = 1000;

/**
 * Counts into its own set of families, because several kubelets can run in a process.
 *
 * The library is loaded for the first reader, not when the kubelet starts; until then measurements wait in order.
 * Mirrors KubeRegistry in k8s.io/component-base/metrics.
 */
export class MetricRegistry<F extends Families> {
  readonly #families: F;
  #waiting: Waiting[] = [];
  #loaded: Loaded | undefined;
  #loading: Promise<Loaded> | undefined;
  readonly #collectors: (() => void | Promise<void>)[] = [];

  /** @param families in the order of their names */
  constructor(families: F) {
    this.#families = families;
  }

  /** Adds to a counter, or changes a gauge. */
  add(name: NameOf<F, "counter" | "gauge">, labels: Labels = {}, change = 1): void {
    this.#record(({ metrics }) => (metrics.get(name) as Counter | Gauge).inc(labels, change));
  }

  set(name: NameOf<F, "gauge">, value: number, labels: Labels = {}): void {
    this.#record(({ metrics }) => (metrics.get(name) as Gauge).set(labels, value));
  }

  /** Adds a duration to a histogram of seconds. */
  observe(name: NameOf<F, "histogram">, durationMs: number, labels: Labels = {}): void {
    this.count(name, durationMs / 1000, labels);
  }

  /** Adds a number to a histogram with a unit other than seconds. */
  count(name: NameOf<F, "histogram">, value: number, labels: Labels = {}): void {
    this.#record(({ metrics }) => (metrics.get(name) as Histogram).observe(labels, value));
  }

  /** Replaces all values of a family with measured ones. */
  replace(
    name: NameOf<F, "counter" | "gauge">,
    samples: readonly { readonly labels?: Labels; readonly value: number }[],
  ): void {
    this.#record(({ metrics }) => {
      const metric = metrics.get(name) as Counter | Gauge;
      metric.reset();
      // A family without labels then is 0, which is a value.
      if (samples.length === 0) metric.remove({});
      for (const { labels = {}, value } of samples) metric.inc(labels, value);
    });
  }

  /** Ends a series. */
  remove(name: keyof F & string, labels: Labels): void {
    this.#record(({ metrics }) => metrics.get(name)?.remove(labels));
  }

  /** Calls `collect` before each reading, for values that are measured, not counted. Mirrors Collector of client_golang. */
  collectWith(collect: () => void | Promise<void>): void {
    this.#collectors.push(collect);
  }

  /** Prometheus' text format: the families by name; those without a series are left out, as by client_golang. */
  async text(): Promise<string> {
    const { registry, metrics } = await this.#load();
    for (const collect of this.#collectors) await collect();
    const families = await Promise.all([...metrics.keys()].map((name) => registry.getSingleMetricAsString(name)));
    return families.flatMap((text) => (HAS_SERIES.test(text) ? [text, "\n"] : [])).join("");
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
    const metrics = new Map<string, Metric>();
    for (const [name, family] of Object.entries<Family>(this.#families)) {
      const help = family.isRaw === true ? family.help : `[ALPHA] ${family.help}`;
      const common = { name, help, labelNames: [...(family.labels ?? [])], registers: [registry] };
      if (family.type === "histogram") {
        metrics.set(name, new Histogram({ ...common, buckets: [...family.buckets] }));
      } else metrics.set(name, family.type === "counter" ? new Counter(common) : new Gauge(common));
    }
    this.#loaded = { registry, metrics };
    for (const measurement of this.#waiting) measurement(this.#loaded);
    this.#waiting = [];
    return this.#loaded;
  }
}
