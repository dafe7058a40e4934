import type { KubeList, KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { ListOptions } from "../../../staging/apimachinery/api/options.js";
import { notFound } from "../../../staging/apimachinery/errors.js";
import { goDuration, rfc3339 } from "../../../staging/apimachinery/time.js";
import { METRICS_GROUP } from "../../apiserver/registry/metrics/metrics.js";
import type { ResourceDefinition } from "../../apiserver/registry/rest/definition.js";
import type { Registry, ResourceStore } from "../../apiserver/registry/rest/registry.js";
import { podKey } from "./decode.js";
import type { MetricsServer } from "./metrics-server.js";
import type { Measured, MetricsStorage } from "./storage.js";

/** What a reader of metrics needs. */
export interface MetricsReaderDeps {
  readonly registry: Pick<Registry, "store">;
  readonly server: Pick<MetricsServer, "read">;
  readonly clock: { now(): number };
}

/**
 * Reads NodeMetrics or PodMetrics: computes an object for each node or pod that has been measured.
 *
 * Mirrors pkg/api of metrics-server (node.go, pod.go). A node or pod that does not exist is not found under its own resource; one
 * without two readings, such as a pod that has just started, under that of its metrics.
 */
export function metricsReader(
  definition: ResourceDefinition,
  deps: MetricsReaderDeps,
): Pick<ResourceStore, "get" | "list"> {
  const { resource, kind, group, version } = definition;
  const apiVersion = `${group}/${version}`;
  const usageOf = resource === "nodes" ? nodeUsage : podUsage;
  const objects = () => deps.registry.store(resource);
  const metricsOf = (storage: MetricsStorage, object: KubeObject): KubeObject[] => {
    const usage = usageOf(storage, object);
    const { name, namespace, labels } = object.metadata;
    const metadata = {
      ...{ name, ...(namespace === undefined ? {} : { namespace }) },
      creationTimestamp: rfc3339(deps.clock.now()),
      ...(labels === undefined ? {} : { labels }),
    };
    return usage === undefined ? [] : [{ kind, apiVersion, metadata, ...usage } as KubeObject];
  };
  return {
    async get(namespace, name) {
      const object = await objects().get(namespace, name);
      const [metrics] = metricsOf(await deps.server.read(), object);
      if (metrics !== undefined) return metrics;
      const missing = namespace === undefined ? name : podKey(namespace, name);
      throw notFound({ group: METRICS_GROUP, resource: kind.toLowerCase() }, missing);
    },
    async list(namespace, { labelSelector, fieldSelector }: ListOptions = {}): Promise<KubeList> {
      const selectors = {
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
      };
      const storage = await deps.server.read();
      const { items } = await objects().list(namespace, selectors);
      return {
        kind: `${kind}List`,
        apiVersion,
        metadata: {},
        items: items.flatMap((object) => metricsOf(storage, object)),
      };
    },
  };
}

function nodeUsage(storage: MetricsStorage, { metadata }: KubeObject): object | undefined {
  const measured = storage.node(metadata.name ?? "");
  return measured && { ...timeOf(measured), usage: measured.usage };
}

function podUsage(storage: MetricsStorage, { metadata }: KubeObject): object | undefined {
  const measured = storage.pod(podKey(metadata.namespace ?? "", metadata.name ?? ""));
  return measured && { ...timeOf(measured), containers: measured.usage };
}

function timeOf({ timestampMs, windowMs }: Measured<unknown>) {
  return { timestamp: rfc3339(timestampMs), window: goDuration(windowMs) };
}
