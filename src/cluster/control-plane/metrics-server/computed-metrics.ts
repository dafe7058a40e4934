import { methodNotAllowed } from "../../../staging/apimachinery/errors.js";
import type { ResourceDefinition } from "../../apiserver/registry/rest/definition.js";
import type { Registry, ResourceStore } from "../../apiserver/registry/rest/registry.js";
import { resourceKeys } from "../../apiserver/storage/keys.js";
import type { MetricsServer } from "./metrics-server.js";
import type { ScraperDeps } from "./scraper.js";

/** What reading metrics needs. The registry has the stores of metrics, so it is made after them. */
export interface ComputedMetricsDeps extends Omit<ScraperDeps, "registry"> {
  readonly registry: () => Registry;
}

/** The stores of metrics.k8s.io. Loads the rest of the metrics server with its first reader. */
export class ComputedMetrics {
  readonly #closing = new AbortController();
  #server: Promise<MetricsServer> | undefined;

  constructor(readonly deps: ComputedMetricsDeps) {}

  /** @param definition of NodeMetrics or PodMetrics */
  store(definition: ResourceDefinition): ResourceStore {
    const load = async () => {
      const { metricsReader } = await import("./reader.js");
      const { clock } = this.deps;
      return metricsReader(definition, { registry: this.deps.registry(), server: await this.#start(), clock });
    };
    let reader: ReturnType<typeof load> | undefined;
    const loaded = () => {
      reader ??= load();
      return reader;
    };
    return {
      definition,
      keys: resourceKeys(definition),
      get: async (namespace, name) => (await loaded()).get(namespace, name),
      list: async (namespace, options) => (await loaded()).list(namespace, options),
      create: refuse,
      update: refuse,
      delete: refuse,
      deleteCollection: refuse,
      watch() {
        throw methodNotAllowed();
      },
    };
  }

  #start(): Promise<MetricsServer> {
    this.#server ??= import("./metrics-server.js").then(
      ({ MetricsServer }) => new MetricsServer({ ...this.deps, registry: this.deps.registry() }, this.#closing.signal),
    );
    return this.#server;
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    this.#closing.abort();
    await (await this.#server)?.close();
  }
}

async function refuse(): Promise<never> {
  throw methodNotAllowed();
}
