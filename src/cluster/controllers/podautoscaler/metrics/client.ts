import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { ApiResource } from "../../../../staging/apimachinery/api/resource.js";
import { storeName } from "../../../../staging/apimachinery/api/resource.js";
import { StatusError } from "../../../../staging/apimachinery/errors.js";
import { milliValue } from "../../../../staging/apimachinery/quantity.js";
import { parseGoDuration } from "../../../../staging/apimachinery/time.js";
import type { LocalClient } from "../../../../staging/client-go/dynamic/interface.js";

/** A metric cannot be read, or has no usable values. The autoscaler's conditions and events show the message. */
export class MetricsError extends Error {}

/** One pod's use of a resource. Mirrors PodMetric in pkg/controller/podautoscaler/metrics/interfaces.go. */
export interface PodMetric {
  /** Unix ms: the end of the window */
  readonly timestampMs: number;
  readonly windowMs: number;
  /** thousandths of the resource's unit: millicores, thousandths of a byte */
  readonly value: number;
}

/** Pod name -> metric. Mirrors PodMetricsInfo. */
export type PodMetricsInfo = ReadonlyMap<string, PodMetric>;

export interface ResourceQuery {
  /** `cpu`, `memory` */
  readonly resource: string;
  readonly namespace: string;
  /** `app=web` */
  readonly selector: string;
  /** only this container's use; absent: the sum of all containers */
  readonly container?: string;
}

/** An object of metrics.k8s.io/v1beta1. */
interface PodMetrics extends KubeObject {
  readonly timestamp?: string;
  /** a Go duration: `15s` */
  readonly window?: string;
  readonly containers?: readonly { readonly name: string; readonly usage?: Readonly<Record<string, string>> }[];
}

/** as the registry names it */
const POD_METRICS = "pods.metrics.k8s.io";

/**
 * Reads the resource metrics of pods from the API metrics.k8s.io.
 * Mirrors resourceMetricsClient in pkg/controller/podautoscaler/metrics/client.go.
 */
export class ResourceMetricsClient {
  /** @param definitions the resources that are served */
  constructor(
    readonly client: Pick<LocalClient, "list">,
    readonly definitions: readonly ApiResource[],
  ) {}

  /** Mirrors GetResourceMetric. @throws MetricsError */
  async getResourceMetric(query: ResourceQuery): Promise<PodMetricsInfo> {
    const items = await this.#list(query);
    if (items.length === 0) throw new MetricsError("no metrics returned from resource metrics API");
    const { resource, container } = query;
    if (container === undefined) return getPodMetrics(items, resource);
    return getContainerMetrics(items, resource, container);
  }

  async #list({ namespace, selector: labelSelector }: ResourceQuery): Promise<readonly PodMetrics[]> {
    if (!this.definitions.some((one) => storeName(one) === POD_METRICS)) {
      throw unableToFetch(`the server could not find the requested resource (get ${POD_METRICS})`);
    }
    try {
      return await this.client.list<PodMetrics>(POD_METRICS, namespace, { labelSelector });
    } catch (error) {
      throw error instanceof StatusError ? unableToFetch(error.message) : error;
    }
  }
}

function unableToFetch(why: string): MetricsError {
  return new MetricsError(`unable to fetch metrics from resource metrics API: ${why}`);
}

/** A pod of which a container has no value is left out. Mirrors getPodMetrics. */
function getPodMetrics(items: readonly PodMetrics[], resource: string): PodMetricsInfo {
  const metrics = new Map<string, PodMetric>();
  for (const item of items) {
    const usages = (item.containers ?? []).map(({ usage }) => usage?.[resource]);
    if (usages.length === 0 || usages.includes(undefined)) continue;
    const value = usages.reduce((sum, usage) => sum + milliValue(usage), 0);
    metrics.set(item.metadata.name ?? "", { ...windowOf(item), value });
  }
  return metrics;
}

/** Mirrors getContainerMetrics. @throws MetricsError if a pod has no such container */
function getContainerMetrics(items: readonly PodMetrics[], resource: string, container: string): PodMetricsInfo {
  const metrics = new Map<string, PodMetric>();
  for (const item of items) {
    const { namespace, name = "" } = item.metadata;
    const found = item.containers?.find((one) => one.name === container);
    if (found === undefined) {
      const why = `container ${container} not present in metrics for pod ${namespace}/${name}`;
      throw new MetricsError(`failed to get container metrics: ${why}`);
    }
    const usage = found.usage?.[resource];
    if (usage !== undefined) metrics.set(name, { ...windowOf(item), value: milliValue(usage) });
  }
  return metrics;
}

function windowOf({ timestamp, window }: PodMetrics): Pick<PodMetric, "timestampMs" | "windowMs"> {
  return { timestampMs: Date.parse(timestamp ?? "") || 0, windowMs: windowMs(window) };
}

/** 0 for a window that is not a duration. */
function windowMs(window = ""): number {
  try {
    return parseGoDuration(window);
  } catch {
    return 0;
  }
}
